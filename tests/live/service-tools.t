#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# tcp.exchange and svclat: answer times against the clock of the client, for connections of all kinds.
# vm: 40
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3 ss
exact
few=$((slower > 1 ? 100 : 2000))

ns_make host
unseen_begin tcp/tcp_probe 'saddr > 0'
nest_bg trace tcp.exchange -N "$host" --json
events=$nest_out trace=$nest_pid
wait_ready "$nest_err" 60 || exit 1
nest_bg svclat -N "$host" --json
sums=$nest_out tool=$nest_pid
wait_ready "$nest_err" 60 || exit 1
in_ns "$host" python3 "$(dirname "$0")/service-load.py" "$few" >"$room/load" || fail 'the load ran'

# A connection that waits when the run ends.
in_ns "$host" python3 -c 'import socket, time
l = socket.socket(); l.bind(("127.0.0.1", 0)); l.listen()
c = socket.create_connection(l.getsockname()); s = l.accept()[0]; c.send(b"q" * 77)
print(l.getsockname()[1], flush=True); time.sleep(600)' >"$room/open.port" &
asker=$!
note_process "$asker"
wait_for 20 test -s "$room/open.port"
pause 0.5
end_bg "$trace"
end_bg "$tool"
end_bg "$asker" TERM
echo "# unseen: $(unseen)"

# of CASE ROLE EXPRESSION: c: connections of the case, e: their events in order, of one end.
of() {
	python3 -c 'import json, sys
load, events = ([json.loads(l) for l in open(f)] for f in sys.argv[1:3])
c = [x for x in load if x["case"] == sys.argv[3]]
# Both ports: a later connection may have one of them.
ports = {(x["port"], x["service"]) for x in c}
port = "lport" if sys.argv[4] == "client" else "rport"
e = [x for x in events if x["role"] == sys.argv[4] and (x[port], x["service_port"]) in ports]
waits = [w for x in c for w in x["waits"]]
bytes = [b for x in c for b in x["bytes"]]
# An answer takes no longer than the client waited; at most 20 ms less: its clock includes the scheduler.
most = 20e6 * int(sys.argv[5])
agree = [len(e) == len(waits)] + [w - most < x["lat_ns"] <= w + most * (x["outcome"] != "answered")
                                  for x, w in zip(e, waits)]
print(eval("(" + sys.argv[6] + ")"))' "$room/load" "$events" "$1" "$2" "$slower" "$3"
}

for name in keep-alive IPv6 short pipelined large; do
	# The client's wait for a megabyte includes its way; the server thinks for 30 ms.
	agree='all(agree)'
	[ "$name" != large ] || agree='len(e) == 1 and 30e6 <= e[0]["lat_ns"] <= waits[0]'
	for role in client server; do
		is "$(of "$name" "$role" "{x['outcome'] for x in e}, $agree,
			[x['request_bytes'] for x in e] == bytes")" \
			"({'answered'}, True, True)" "$name, $role: every answer, as late as the client says"
	done
	is "$(of $name client '{(x["service"], x["service_port"]) for x in e} ==
		{("::1" if x["case"] == "IPv6" else "127.0.0.1", x["service"]) for x in c}')" True "$name: the service"
	is "$(of $name server '{(x["service"], x["service_port"]) for x in e} == {(None, x["service"]) for x in c}')" \
		True "$name: the own port of a server"
done
is "$(of keep-alive server '[x["lat_ns"] >= d * 1e6 for x, d in zip(e, [0, 5, 50, 300])]')" \
	'[True, True, True, True]' 'not earlier than the server answers'
is "$(of pushes client e)$(of pushes server e)" '[][]' 'data without a request is no answer'
is "$(of given-up client '[x["outcome"] for x in e], all(agree)')" "(['closed'], True)" 'a client that gives up'
is "$(of given-up server '[x["outcome"] for x in e], all(agree)')" "(['peer-closed'], True)" 'its server'
is "$(of left client '[x["outcome"] for x in e], all(agree)')" "(['peer-closed'], True)" 'a server that closes'
is "$(of left server '[x["outcome"] for x in e], all(agree)')" "(['closed'], True)" 'the server that closes'
is "$(of reset client '[x["outcome"] for x in e], all(agree)')" "(['reset'], True)" 'a server that resets'
is "$(of reset server '[x["outcome"] for x in e], all(agree)')" "(['closed'], True)" 'the server that resets'
for role in client server; do
	is "$(of goodbye $role '[x["outcome"] for x in e]')" "['answered']" "a goodbye is no request, $role"
done
is "$(of half-closed server '[x["outcome"] for x in e], all(agree)')" "(['answered'], True)" \
	'a client that shuts down its side after the request, at the server'
is "$(of half-closed client 'e')" '[]' 'at the client its answer is not seen'
for role in client server; do
	is "$(of ping-pong $role 'len(e), {x["outcome"] for x in e}, sum(agree[1:]) == len(waits)')" \
		"($few, {'answered'}, True)" "every exchange of a ping-pong, $role"
	is "$(of ping-pong $role '{(x["request_bytes"], x["answer_bytes"]) for x in e}')" '{(64, 64)}' \
		"its bytes, $role"
done
port=$(cat "$room/open.port")
is "$(figures "$events" 'sorted((x["role"], x["outcome"], x["request_bytes"], x["lat_ns"] > 4e8) for x in r
	if x["service_port"] == '"$port"')')" \
	"[('client', 'open', 77, True), ('server', 'open', 77, True)]" 'a request without an answer at the end'

# The tool: the same, added up.
rows() {
	python3 -c 'import json, sys
load, rows = ([json.loads(l) for l in open(f)] for f in sys.argv[1:3])
port = {x["case"]: x["service"] for x in load}
r = [x for x in rows if x["role"] == "client" and x["service_port"] == port[sys.argv[3]]]
print(eval("(" + sys.argv[4] + ")"))' "$room/load" "$sums" "$1" "$2"
}
is "$(rows ping-pong 'sum(x["count"] for x in r)')" "$few" 'svclat counts every exchange'
is "$(rows given-up '[(x["outcome"], x["count"]) for x in r if x["outcome"] != "open"]')" "[('closed', 1)]" \
	'svclat counts the unanswered'
is "$(rows short '{x["outcome"] for x in r}, sum(x["count"] for x in r), all(20e6 <= x["p50"] <= x["p99"] <= x["max"]
	for x in r)')" "({'answered'}, 5, True)" 'svclat has percentiles'
is "$(rows short 'all(0 < x["min_rtt_ns"] < 20e6 for x in r)')" True 'svclat has the RTT, not the answer time'
finish
