#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The functions behind the page: functions.mjs.
exec node "$(dirname "$0")/functions.mjs"
