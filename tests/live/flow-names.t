#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Functions of one name (static, of a header, weak) are told apart by address and file, in one trace and between two.
. "$(dirname "$0")/lib.sh"
require_cmd g++ addr2line python3

python3 "$live_dir/flow-names.py" "$(dirname "$nest")" "$room" >"$room/out" 2>&1
code=$?
sed 's/^/# /' "$room/out"
is "$code" 0 'each is the right one'
compare "$(grep -c '^ok ' "$room/out")" -eq 14 'all of them'
finish
