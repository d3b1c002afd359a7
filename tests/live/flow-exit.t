#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A forked process leaves by _exit while one of its threads is inside a call: the call ends with the process.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd gcc python3

target=$room/target
ok 'the target is built' gcc -O1 -D_GNU_SOURCE -finstrument-functions -pthread -Wno-infinite-recursion \
	-o "$target" "$live_dir/flow-target.c" -ldl || { finish; exit; }
"$nest" flow record -o "$room/x.trace" -- "$target" leave 3 >"$room/out" 2>"$room/err"
"$nest" flow export "$room/x.trace" --csv -o "$room/calls.csv" 2>>"$room/err"
ok 'calls open at the exit of a process end there' python3 - "$room/calls.csv" <<'PYTHON'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
ends = sorted(int(r['time_ns']) + int(r['lat_ns']) for r in rows if r['function'] == 'linger')
next_calls = sorted(int(r['time_ns']) for r in rows if r['function'] == 'after_child')
assert len(ends) == len(next_calls) == 3, rows
# The parent calls after_child when the child is gone.
assert all(end <= begin for end, begin in zip(ends, next_calls)), (ends, next_calls)
PYTHON
is "$("$nest" flow info "$room/x.trace" --json | sed -n 's/.*"lost":\([^,}]*\).*/\1/p')" 0 'nothing is lost'
finish
