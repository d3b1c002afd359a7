#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 300
# Pages in files, and the same pictures in the page: exports.mjs.
exec node "$(dirname "$0")/exports.mjs"
