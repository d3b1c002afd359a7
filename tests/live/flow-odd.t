#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Servers of four kinds that do one thing wrong: for 5 of 100 clients, or since yesterday. Which function is named?
. "$(dirname "$0")/lib.sh"
require_cmd gcc g++ python3

python3 "$live_dir/flow-odd.py" "$(dirname "$nest")" "$room" >"$room/out" 2>&1
code=$?
sed 's/^/# /' "$room/out"
is "$code" 0 'each is found, and nothing where nothing is'
compare "$(grep -c '^ok ' "$room/out")" -eq 52 'in all servers'
finish
