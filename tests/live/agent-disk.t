#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 300
# runs beside others
# nest agent on a busy host with a small recording: it follows fewer of the connections that move, says so, finds the
# one that stalls all the same, and a replay gives the verdicts that the agent gave.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3
require_cmd sqlite3

ns_make host
cat >"$room/busy.py" <<'END'
# 300 connections with a request and an answer per 0.5 s each, and a stream whose reader stops while the file is there.
import os, socket, sys, threading, time
l = socket.create_server(("127.0.0.1", 5077), backlog=999)
pairs = [(socket.create_connection(l.getsockname()), l.accept()[0]) for _ in range(301)]
c, s = pairs.pop()
def send():
    while True: c.sendall(b"x" * 10000); time.sleep(0.02)
def read():
    while True:
        if os.path.exists(sys.argv[1]): time.sleep(0.1)
        else: s.recv(1 << 20)
threading.Thread(target=send, daemon=True).start()
threading.Thread(target=read, daemon=True).start()
print("ready", flush=True)
while True:
    begin = time.monotonic()
    for a, b in pairs:
        a.send(b"request"); b.recv(100); b.send(b"answer"); a.recv(100)
        time.sleep(0.001)
    time.sleep(max(0, begin + 0.5 - time.monotonic()))
END
bg in_ns "$host" python3 "$room/busy.py" "$room/stop" >"$room/busy.out"
wait_for 30 grep -q ready "$room/busy.out" || exit 1
# 1.2 kB per second: less than the samples of an idle host.
nest_bg agent --store "$room/agent.nest" -N "$host" --socket none --size 96MiB --age 24h --max-cpu 0
agent=$nest_pid
wait_ready "$nest_err"
ask() {
	sqlite3 "file:$room/agent.nest?mode=ro" "$1"
}
# Each sample has the rows of the connections that it follows.
followed() {
	ask "SELECT count(*) FROM socket
		WHERE (SELECT max(id) FROM sample) BETWEEN first AND last AND state = 'ESTABLISHED'"
}
wait_for 20 eval '[ "$(followed)" -gt 0 ]'
compare "$(followed)" -gt 40 'at first many connections are followed'
# Nothing is suspected: three periods of half a minute, and what was dense in the beginning.
ok 'then few' wait_for 180 eval '[ "$(followed)" -le 30 ]'
like "$(ask "SELECT lost FROM gap WHERE (SELECT max(id) FROM sample) BETWEEN first AND last")" \
	'(15|31|63) of (16|32|64) TCP connections that move' 'and every sample says so'

: >"$room/stop"
found() {
	ask "SELECT count(*) FROM finding WHERE cause = 'app-not-reading'"
}
ok 'the connection that stalls is found' wait_for 60 eval '[ "$(found)" -ge 3 ]'
end_bg "$agent"
is "$end_status" 0 'SIGINT ends it'

# The last windows, live and again.
"$nest" diagnose -f "$room/agent.nest" --json >"$room/again.json" 2>"$room/again.err"
ask "SELECT v.time_ns, (SELECT group_concat(cause, ' ') FROM
	(SELECT cause FROM finding f WHERE f.time_ns = v.time_ns ORDER BY f.rowid)) FROM verdict v" >"$room/live"
is "$(python3 - "$room/live" "$room/again.json" <<-'END'
	import json, sys
	live = dict(line.split("|") for line in open(sys.argv[1]))
	live = {int(end) // 10**6: causes.split() for end, causes in live.items()}
	again = {}
	for line in open(sys.argv[2]):
	    w = json.loads(line)
	    again[w["start_ns"] // 10**6 + w["window_ms"]] = [f["cause"] for f in w["findings"]]
	both = [end for end in again if any(abs(end - other) <= 1 for other in live)]
	same = sum(again[end] == next(live[other] for other in live if abs(end - other) <= 1) for end in both)
	print(f"# {len(live)} windows live, {len(again)} again, {len(both)} at the same time, {same} the same",
	      file=sys.stderr)
	print(len(both) > 60 and same == len(both), any("app-not-reading" in causes for causes in again.values()))
END
)" 'True True' 'a replay gives the same verdicts'
finish
