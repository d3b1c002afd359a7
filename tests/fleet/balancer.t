#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 240
# 50 agents know one address; a balancer behind it gives each connection to the next of two collectors, which are killed
# in turn. What agents were told is stored is stored: rows that both collectors received are one row each.
. "$(dirname "$0")/../live/lib.sh"
require_root
require_cmd python3 curl clickhouse-server
. "$(dirname "$0")/fleet.sh"

cat >"$work/balancer.py" <<'END'
# balancer.py PORT-FILE COLLECTOR-PORT ...: each connection to the next collector that accepts it.
import itertools, os, socket, sys, threading
targets = itertools.cycle([int(port) for port in sys.argv[2:]])
def carry(source, sink):
    try:
        while data := source.recv(65536): sink.sendall(data)
    except OSError: pass
    for s in (source, sink):
        try: s.shutdown(socket.SHUT_RDWR)
        except OSError: pass
def serve(client):
    for _ in sys.argv[2:]:
        try: server = socket.create_connection(("127.0.0.1", next(targets)), 5)
        except OSError: continue
        server.settimeout(None)
        threading.Thread(target=carry, args=(server, client), daemon=True).start()
        return carry(client, server)
    client.close()
l = socket.create_server(("127.0.0.1", 0), backlog=500)
with open(sys.argv[1] + ".new", "w") as f: f.write(str(l.getsockname()[1]))
os.rename(sys.argv[1] + ".new", sys.argv[1])
while True: threading.Thread(target=serve, args=(l.accept()[0],), daemon=True).start()
END
one=$(free_port) two=$(free_port)
# Their own name is not the one that agents use.
as=(--host-name localhost)
start_server && start_collector one "$one" "${as[@]}" && start_collector two "$two" "${as[@]}" ||
	{ fail 'servers start'; exit 1; }
python3 "$work/balancer.py" "$work/balancer" "$one" "$two" &
# shellcheck disable=SC2034 # fleet_end reads it
pids[balancer]=$!
await 20 test -s "$work/balancer"
"$agents" -n 50 -s 40 -r 40 "$work/token" "http://localhost:$(cat "$work/balancer")" \
	>"$work/agents.json" 2>"$work/agents.err" &
agents_pid=$!
# again NAME PORT: killed, and back 3 s later.
again() {
	stop "collector-$1" KILL
	sleep 3
	: >"$work/collect-$1.out"
	start_collector "$1" "$2" "${as[@]}"
}
for _ in 1 2; do
	sleep 5
	again one "$one"
	sleep 5
	again two "$two"
done
wait "$agents_pid"
is "$?" 0 'the agents end'
diag "$(cat "$work/agents.json")"
await 60 empty one
await 60 empty two
made=$(figure made)
stored() {
	[ "$(ask 'SELECT count() FROM tcp_close FINAL')" = "$made" ]
}
await 60 stored
is "$(figure waiting) $(figure lost)" '0 0' 'nothing waits or is lost at the agents'
compare "$(figure failures)" -gt 0 'requests failed when a collector was killed'
is "$(ask 'SELECT count() FROM tcp_close FINAL')" "$made" 'every row is stored, and counts once'
is "$(ask 'SELECT sum(missing) FROM (SELECT max(row) - uniqExact(row) AS missing FROM tcp_close GROUP BY host)')" 0 \
	'without gaps'
for name in one two; do
	stop "collector-$name" TERM
	compare "$(sed -n 's/^nest: \([0-9]*\) rows from.*/\1/p' "$work/collect-$name.err" | tail -n 1)" -gt 0 \
		"collector $name received rows"
done
finish
