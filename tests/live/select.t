#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 120
# nest diagnose and watch of one process, one port, one interface, and of all namespaces at once.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3

ns_make client
ns_make server
ns_link "$client" 10.77.0.1/24 "$server" 10.77.0.2/24
dev=$(in_ns "$client" ip -o route get 10.77.0.2 | sed 's/.* dev \([^ ]*\).*/\1/')

# said FILE EXPRESSION: what a Python expression over the list of verdicts yields.
said() {
	python3 -c "import json, sys
v = [json.loads(line) for line in open(sys.argv[1])]
print($2)" "$1"
}

# What the host as a whole suffers from at the moment (another's memory, say) is reported as well: only one cause is
# looked for. A server with a stopped reader, and two clients that send to it.
bg nsenter --net="/run/netns/$server" -- python3 -c '
import socket, time
s = socket.socket(); s.bind(("", 5001)); s.listen(5)
print("listening", flush=True)
held = [s.accept() for _ in range(2)]
time.sleep(1000)' >"$room/server.out"
server_pid=$bg_pid
wait_for 10 grep -q listening "$room/server.out"
client_code='
import socket
s = socket.create_connection(("10.77.0.2", 5001)); data = b"x" * 65536
try:
    while True: s.sendall(data)
except ConnectionResetError: pass'
bg nsenter --net="/run/netns/$client" -- python3 -c "$client_code"
first=$bg_pid
bg nsenter --net="/run/netns/$client" -- python3 -c "$client_code"

# two_connected: both connections are there.
two_connected() {
	[ "$(in_ns "$client" ss -Htn state established | wc -l)" = 2 ]
}
wait_for 20 two_connected

# Each looks for three seconds: side by side.
looks=()
"$nest" diagnose -p "$first" --json >"$room/pid.json" 2>"$room/pid.err" &
looks+=("$!")
"$nest" diagnose -N "$client" -P 4242 >"$room/port.txt" 2>/dev/null &
looks+=("$!")
"$nest" diagnose -N "$client" -i "$dev" -P 5001 --json >"$room/dev.json" 2>/dev/null &
looks+=("$!")
"$nest" diagnose -N "$client" -i lo --json >"$room/lo.json" 2>/dev/null &
looks+=("$!")
wait "${looks[@]}"
is "$(said "$room/pid.json" 'v[-1]["netns"]')" \
	"$(stat -Lc %i "/run/netns/$client")" 'a process is looked at where it lives'
is "$(said "$room/pid.json" '[m["id"] for m in v[-1]["modules"] if m["id"].startswith("app:")]')" \
	"['app:$first']" 'only that process is shown'
is "$(said "$room/pid.json" '[len(f["affects"]) for f in v[-1]["findings"] if f["cause"] == "peer-not-reading"]')" \
	'[1]' 'and what it suffers from'
is "$(head -n 1 "$room/port.txt")" \
	'No socket matches the selection.' 'nothing chosen does not look like good health'
is "$(said "$room/dev.json" 'len([m for m in v[-1]["modules"] if m["id"].startswith("conn:")])')" \
	2 'by interface and port'
is "$(said "$room/lo.json" 'v[-1]["modules"], v[-1]["healthy"]')" '[] True' 'nothing leaves through the other interface'
is "$("$nest" sockets -N "$client" -i "$dev" --json 2>/dev/null | wc -l)" 2 'sockets by interface'
"$nest" diagnose -p 4194304 >/dev/null 2>"$room/err"
like "$(cat "$room/err")" 'there is no process 4194304' 'a process that is not there is said'

# Both ends on one host: a client of a stopped server is affected, one of a server that only computes is not.
asker_code='
import socket, sys
s = socket.create_connection((sys.argv[2], int(sys.argv[1])))
s.sendall(b"question"); s.recv(100)'
bg nsenter --net="/run/netns/$server" -- python3 -c '
import os, signal, socket, time
s, t, u = [socket.create_server(("", port)) for port in (5003, 5004, 5005)]
print("listening", flush=True)
c, d, e = s.accept(), t.accept(), u.accept()
d[0].recv(100)
if os.fork(): time.sleep(1000)
c[0].close(); time.sleep(1000)' >"$room/local.out"
local_pid=$bg_pid
wait_for 10 grep -q listening "$room/local.out"
bg nsenter --net="/run/netns/$server" -- python3 -c "$asker_code" 5003 127.0.0.1
stopped_asker=$bg_pid
bg nsenter --net="/run/netns/$server" -- python3 -c "$asker_code" 5004 127.0.0.1
thinking_asker=$bg_pid
bg nsenter --net="/run/netns/$client" -- python3 -c "$asker_code" 5005 10.77.0.2
far_asker=$bg_pid
# asked NAMESPACE PORT: the question from there has been acknowledged.
asked() {
	in_ns "$1" ss -Htni "dport = :$2" | grep -q 'bytes_acked:9'
}
wait_for 10 asked "$server" 5003
wait_for 10 asked "$server" 5004
wait_for 10 asked "$client" 5005
"$nest" diagnose -p "$thinking_asker" >"$room/thinks.txt" 2>/dev/null &
looks=("$!")
"$nest" diagnose -p "$far_asker" >"$room/far.txt" 2>/dev/null &
looks+=("$!")
kill -STOP "$local_pid"
"$nest" diagnose -p "$stopped_asker" --json >"$room/stopped.json" 2>/dev/null &
looks+=("$!")
wait "${looks[@]}"
kill -CONT "$local_pid"
is "$(said "$room/stopped.json" '[f["module"] for f in v[-1]["findings"] if f["cause"] == "app-not-reading"]')" \
	"['app:$local_pid']" 'a client on the same host names the stopped server'
like "$(cat "$room/thinks.txt")" \
	"127.0.0.1:[0-9]+ waits for python3 \\($local_pid\\): 1 request unanswered for [0-9.]+ m?s" \
	'an answer that has not come is reported'
like "$(cat "$room/far.txt")" \
	"python3 \\($far_asker\\) waits for 10.77.0.2:5005: 1 request unanswered for [0-9.]+ m?s" \
	'and of a peer elsewhere'

# All namespaces at once, each with its own answer.
"$nest" diagnose -N all >"$room/all.txt" 2>/dev/null &
text_pid=$!
"$nest" diagnose -N all --json >"$room/all.json" 2>/dev/null
wait "$text_pid"
is "$(said "$room/all.json" \
	"['peer-not-reading' in [f['cause'] for f in d['findings']] for d in v if d['netns_name'] == '$client']")" \
	"[True]" 'every namespace has its own culprit: the sender'
is "$(said "$room/all.json" \
	"['app-not-reading' in [f['cause'] for f in d['findings']] for d in v if d['netns_name'] == '$server']")" \
	"[True]" 'and the reader'
like "$(cat "$room/all.txt")" "network namespace $server \\([0-9]+\\)" 'the text says which namespace'

# A stall that ends with its process.
nest_bg watch -N "$server" -p "$server_pid" --rate 5 --json -d 20
wait_ready "$nest_err"
wait_for 20 grep -q '"event":"begin","cause":"app-not-reading"' "$nest_out"
kill -9 "$server_pid"
wait_for 20 grep -q '"event":"end","cause":"app-not-reading"' "$nest_out"
is "$(said "$nest_out" '[e["event"] for e in v if e["cause"] == "app-not-reading"]')" \
	"['begin', 'end']" 'begin and end, once each'
is "$(said "$nest_out" '[e["span_ns"] is None for e in v if e["cause"] == "app-not-reading"]')" \
	'[True, False]' 'an end says how long it lasted'
finish
