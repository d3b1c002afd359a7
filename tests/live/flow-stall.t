#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 120
# nest diagnose --flow: a recorded server stops reading, and the finding names the function that it is in instead.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd gcc python3

ns_make host
in_ns "$host" ip link set lo up
gcc -O1 -D_GNU_SOURCE -finstrument-functions -o "$room/server" "$live_dir/flow-stall.c" || exit 1

# stalled WHAT: a server that does so, recorded, and a client that sends as much as it may;
# waits until the server stalls.
stalled() {
	bg nsenter --net="/run/netns/$host" -- python3 "$live_dir/flow-stall-load.py" "$nest" "$room" "$1"
	wait_for 30 grep -q stalls "$room/$1.out"
}

# finished WHAT: ends it; the trace is complete.
finished() {
	kill "$bg_pid"
	wait_for 20 grep -q 'events, ' "$room/$1.err"
}

# say TRACE [OPTIONS]: the finding about the server, and of what is inside it: function, share, path.
say() {
	"$nest" diagnose -N "$host" --json --flow "$@" >"$room/json" 2>"$room/err"
	python3 - "$room/json" <<'PYTHON'
import json, sys
for f in json.loads(open(sys.argv[1]).readlines()[-1])['findings']:
    if f['cause'] == 'app-not-reading':
        inside = f['spent_in']
        print(f['cause'], inside and (inside['function'], inside['share'] > 0.9, ' > '.join(inside['path'])))
PYTHON
}
stalled sleep
is "$(say "$room/sleep.trace" --save "$room/kept.nest")" \
	"app-not-reading ('sleep_on_disk', True, 'main > serve > do_instead > sleep_on_disk')" \
	'the finding names the function in which the reader is, while the trace is still written'
"$nest" diagnose -N "$host" --flow "$room/sleep.trace" >"$room/text" 2>/dev/null
inside='its thread [0-9]+ \(server\) spent (9[0-9]|100) % of that time in sleep_on_disk, called by do_instead'
like "$(cat "$room/text")" "inside: $inside" 'and so does the text'
finished sleep
stalled wait
is "$(say "$room/wait.trace")" "app-not-reading ('await_other', True, 'main > serve > do_instead > await_other')" \
	'a reader that waits for something else'
finished wait

# Afterwards, from a recording of the host and the finished trace.
is "$(say "$room/sleep.trace" -f "$room/kept.nest")" \
	"app-not-reading ('sleep_on_disk', True, 'main > serve > do_instead > sleep_on_disk')" \
	'postmortem: the same from both recordings'
is "$(say "$room/wait.trace" -f "$room/kept.nest")" 'app-not-reading None' 'a trace of another server says nothing'
like "$(cat "$room/err")" 'connection not found in the trace' 'and the reason is reported'
"$nest" diagnose -N "$host" --flow "$room/no-such.trace" >/dev/null 2>"$room/err"
is "$?" 5 'a trace that is not there is an error'
like "$(cat "$room/err")" 'no-such\.trace' 'that names it'
finish
