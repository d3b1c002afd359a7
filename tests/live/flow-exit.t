#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A forked process leaves by _exit while one of its threads is inside a call, or executes another program: the call ends
# with the process, or there.
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

"$nest" flow record -o "$room/y.trace" -- "$target" replace 3 >"$room/out" 2>"$room/err"
"$nest" flow export "$room/y.trace" --csv -o "$room/calls.csv" 2>>"$room/err"
ok 'calls open at an exec end there' python3 - "$room/calls.csv" <<'PYTHON'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
main = min(int(r['tid']) for r in rows)
children = [r for r in rows if int(r['tid']) != main]
ends = sorted(int(r['time_ns']) + int(r['lat_ns']) for r in children if r['function'] == 'do_replace')
works = [r for r in children if r['function'] == 'work']
begins = sorted(int(r['time_ns']) for r in rows if r['function'] == 'after_child')
# Also what a child did after an exec that failed.
assert len(begins) == 3 and len(works) == 6, rows
# The other program sleeps for 200 ms, then the parent goes on.
assert len(ends) == 3 and all(begin - end > 150e6 for end, begin in zip(ends, begins)), (ends, begins)
PYTHON
is "$("$nest" flow info "$room/y.trace" --json | sed -n 's/.*"lost":\([^,}]*\).*/\1/p')" 0 'and nothing is lost'
finish
