#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# nest flow record --summary: sessions that are summarised while the program runs, whatever becomes of the program.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd gcc python3

target=$room/target
trace=$room/x.trace
ok 'the target is built' gcc -O1 -D_GNU_SOURCE -finstrument-functions -pthread -Wno-infinite-recursion \
	-o "$target" "$live_dir/flow-target.c" -ldl || { finish; exit; }

# record ARGS: of the target, summarised; --timed first: every event carries the time.
record() {
	local options=(--summary)
	if [ "$1" = --timed ]; then
		options+=(-S 4096)
		shift
	fi
	rm -f "$trace" "$trace.live"
	"$nest" flow record -o "$trace" "${options[@]}" -- "$target" "$@" >"$room/out" 2>"$room/err"
	"$nest" flow info "$trace" --json >"$room/info.json"
	"$nest" flow tree "$trace" --csv --share 0 --show function,calls >"$room/tree.csv" 2>/dev/null
}

# calls NAME: of that function, wherever it was called.
calls() {
	awk -F, -v name="$1" '$1 == name { n += $2 } END { print n + 0 }' "$room/tree.csv"
}
info() {
	sed -n "s/.*\"$1\":\([^,}]*\).*/\1/p" "$room/info.json"
}
sound() {
	is "$(info complete) $(info summarised) $(info lost) $(info cut)" \
		'true true 0 0' "$1: complete, nothing lost or cut"
}

for how in --timed ''; do
	record $how calls 100000
	is "$(calls leaf) $(calls work) $(calls main)" '100000 1 1' "calls $how: every call is counted"
	sound "calls $how"
	ok "calls $how: in a few kilobytes" test "$(info bytes)" -lt 10000
done
record threads 200
is "$(cat "$room/out") $(calls leaf) $(info threads)" 'threads 200 20000 201' 'threads: all of 200'
sound threads
record fork 20
is "$(calls leaf)" 220 'fork: children and parent'
sound fork
record exec 4
is "$(calls leaf)" 25 'exec: every program of the chain'
record killed 50000
is "$(calls leaf)" 50000 'killed: nothing before the kill is lost'
sound killed
record crash 50000
is "$(calls leaf)" 50000 'crash: nothing before the crash is lost'
record quick-exit 1000
is "$(calls leaf)" 1000 '_exit: nothing is lost'
record longjmp 20
is "$(calls jump_from) $(calls leaf)" '200 3' 'longjmp: calls that never returned are counted'
record user 1000
is "$(calls leaf)" 3000 'another user, another root, no environment: still recorded'
record deep 2000
is "$(info complete) $(tail -1 "$room/out")" \
	'true deep 2000' 'a recursion deeper than trees are kept: it gets to its end'
ok 'and what is deeper is said' test "$(info cut)" -gt 1000

record sockets 500
port=$(sed -n 's/^port //p' "$room/out")
"$nest" flow sessions "$trace" --json --where "lport == $port" >"$room/sessions" 2>/dev/null
ok 'sessions: as many as there were, with their bytes and calls, in few rows' python3 - "$room/sessions" <<'PYTHON'
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
assert sum(row["count"] for row in rows) == 500, rows
assert len(rows) < 20, len(rows)
# What the program calls after a connection, without a socket and soon, counts for that one.
assert sum(row["count"] for row in rows if row["calls"] == 1) >= 450, rows
for row in rows:
    assert (row["rx_bytes"], row["tx_bytes"], row["requests"], row["open"]) == (40, 40, 1, False), row
    assert row["function"] == "serve" and 0 < row["busy_ns"] <= row["span_ns"], row
PYTHON
is "$(calls serve) $(calls client_body)" '500 1' 'sessions: their calls, and those of no session'
sound sessions
is "$("$nest" flow sessions "$trace" --classes --csv --where 'function == serve' --show sessions 2>/dev/null |
	awk 'NR > 1 { n += $1 } END { print n }')" 500 'classes: all of them'

# The same connections in a trace and in a summary: most are of the same kind. On a busy machine, single ones have
# another number of calls: what follows one within 10 ms and touches no socket is still its.
kinds() {
	"$nest" flow sessions "$1" --json --where "lport == $port" 2>/dev/null | python3 -c '
import collections, json, sys
kinds = collections.Counter()
for row in map(json.loads, sys.stdin):
    kinds[tuple(row[k] for k in ("calls", "requests", "tx_bytes", "rx_bytes", "function"))] += row["count"]
print(kinds.most_common(1)[0][0], sum(kinds.values()))'
}
"$nest" flow record -o "$room/full.trace" -- "$target" sockets 50 >"$room/out" 2>/dev/null
port=$(sed -n 's/^port //p' "$room/out")
full=$(kinds "$room/full.trace")
record sockets 50
port=$(sed -n 's/^port //p' "$room/out")
is "$(kinds "$trace")" "$full" 'a session of the summary is what it is in the trace'

# Work that is handed to a thread that knows no socket.
record hand-over 60
port=$(sed -n 's/^port //p' "$room/out")
is "$("$nest" flow sessions "$trace" --json --where "lport == $port" 2>/dev/null | python3 -c '
import json, sys
rows = [json.loads(line) for line in sys.stdin]
# Each has one hand_over, one compute in the other thread, three leaves in that; the first
# or last one a call around them.
print(sum(row["count"] for row in rows), {row["calls"] // 5 for row in rows},
      sum(row["requests"] * row["count"] for row in rows))')" \
	'60 {1} 60' 'a value that is pushed and popped: what the other thread does is the session'"'"'s'
is "$(calls compute) $(calls leaf)" '60 180' 'and nothing of it is missing'
sound hand-over
for format in text svg html mermaid plantuml; do
	ok "a summary can be drawn: $format" \
		"$nest" flow diagram "$trace" -F $format -s "lport == $port" -o "$room/drawing"
	ok "with the calls of both threads: $format" grep -q compute "$room/drawing"
done
for format in perfetto folded dot csv; do
	ok "and exported: $format" "$nest" flow export "$trace" --$format -o "$room/exported"
	ok "with the calls: $format" grep -q compute "$room/exported"
done
"$nest" flow export "$trace" --csv -o "$room/exported" 2>"$room/err"
ok 'and it is said that sessions stand for others' grep -q 'stands for all of its kind' "$room/err"

# While the program runs.
rm -f "$trace"
"$nest" flow record --summary --buffer 40K -o "$trace" -- "$target" serve-signals 1000 >"$room/out" 2>"$room/err" &
recorder=$!
echo "$recorder" >>"$room/pids"
ok 'the program runs' wait_for 60 grep -q running "$room/out"
grown() {
	[ "$("$nest" flow info "$trace" --json 2>/dev/null | sed -n 's/.*"calls":\([^,}]*\).*/\1/p')" -gt 20000 ]
}
ok 'a summary can be read while it is made' wait_for 60 grown
kill -TERM "$recorder"
wait "$recorder"
"$nest" flow info "$trace" --json >"$room/info.json"
sound 'ended from outside'

"$nest" flow record --summary --min 1us -o "$trace" -- "$target" calls 1 2>"$room/err"
is $? 2 '--min with --summary is refused'
finish
