#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 300
# The page in Chromium, on bundled recordings: page.mjs.
exec node "$(dirname "$0")/page.mjs"
