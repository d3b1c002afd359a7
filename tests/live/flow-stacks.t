#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# User threads: the calls of each stack nest, whatever runs on the others meanwhile.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd gcc python3

ok 'the program is built' gcc -O1 -finstrument-functions -o "$room/program" "$live_dir/flow-stacks.c" ||
	{ finish; exit; }
"$nest" flow record -o "$room/t" -- "$room/program" >"$room/out" 2>"$room/err"
is $? 0 'and recorded'
"$nest" flow export "$room/t" --csv -o "$room/calls.csv" 2>>"$room/err"
ok 'each call has its caller and its time' python3 - "$room/calls.csv" <<'PYTHON'
import csv, sys
rows = [(r['function'], int(r['depth']), int(r['lat_ns'])) for r in csv.DictReader(open(sys.argv[1]))]
assert len(rows) == 1 + 7 + 4 + 7 + 2, rows
def of(name):
    return [(depth, ns) for function, depth, ns in rows if function == name]
top = of('main')[0][0]
assert [depth for depth, _ in of('resume')] == [top + 1] * 7, rows
for name in ('first', 'second', 'third'):
    assert [depth for depth, _ in of(name)] == [top], rows
assert sorted(depth for depth, _ in of('rest')) == [top + 1] * 4, rows
assert all(depth == top + 1 for depth, _ in of('pass_on')) and len(of('pass_on')) == 6, rows
# What the first one waits for is that the second one rests.
first = [ns for _, ns in of('first')][0]
assert 9e6 < first < of('main')[0][1] and of('second')[0][1] > 14e6 and 4e6 < of('third')[0][1] < first, rows
PYTHON
is "$("$nest" flow info "$room/t" --json | sed -n 's/.*"lost":\([^,}]*\).*/\1/p')" 0 'nothing is lost'

# Beside a busy program on the same CPU, the thread is delayed while the second stack runs, and the first one with it.
cpu=$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')
bg taskset -c "$cpu" timeout 60 python3 -c 'while True: pass'
other=$bg_pid
taskset -c "$cpu" "$nest" flow record -o "$room/busy" -- "$room/program" computes >"$room/out" 2>"$room/err"
is $? 0 'recorded beside another program'
end_bg "$other" TERM
"$nest" flow info "$room/busy" --events >"$room/events" 2>>"$room/err"
ok 'scheduling delay of the thread counts for the suspended stack as well' python3 - "$room/events" <<'PYTHON'
import sys
rows = [line.split() for line in open(sys.argv[1])]
thread = next(row[0] for row in rows if row[2] == 'call' and row[3].endswith('!first'))
delays = [int(row[3]) for row in rows if row[0] == thread and row[2] == 'delay']
assert sum(delays) > 5e6, delays
PYTHON
finish
