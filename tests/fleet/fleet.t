#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 400
# 200 agents, two collectors and a real ClickHouse. The server is killed, a collector is killed, the disk of the other
# one fills: what agents were told is stored is stored once, and nothing else is missing. OUTAGE: seconds without a
# server, 17 at least.
. "$(dirname "$0")/../live/lib.sh"
require_root
require_cmd python3 curl clickhouse-server
: "${OUTAGE:=17}"
. "$(dirname "$0")/fleet.sh"

# The spool of this one is a disk of 1 MiB.
start_small_collector() {
	mkdir -p "$work/spool-two"
	unshare -m bash -c 'mount -t tmpfs -o size=1m,mode=700 small "$1" && shift && exec "$@"' - "$work/spool-two" \
		"$nest" collect --listen "127.0.0.1:$two" --ship "$server" --spool "$work/spool-two" \
		--token-file "$work/token" --agent-rate 0 >"$work/collect-two.out" 2>>"$work/collect-two.err" &
	# shellcheck disable=SC2034 # fleet_end reads it
	pids[collector-two]=$!
	await 30 test -s "$work/collect-two.out"
}

one=$(free_port) two=$(free_port)
ok 'ClickHouse starts' start_server
ok 'a collector starts' start_collector one "$one"
ok 'and one with a small disk' start_small_collector
"$agents" -n 200 -s $((OUTAGE + 23)) -r 40 "$work/token" "http://127.0.0.1:$one" "http://127.0.0.1:$two" \
	>"$work/agents.json" 2>"$work/agents.err" &
agents_pid=$!
sleep 10
stop server KILL
sleep 4
stop collector-one KILL
sleep 3
: >"$work/collect-one.out"
start_collector one "$one"
sleep $((OUTAGE - 7))
ok 'ClickHouse is back' start_server
wait "$agents_pid"
is "$?" 0 'the agents end'
await 90 empty one
made=$(figure made) lost=$(figure lost)
diag "$(cat "$work/agents.json")"
stored() {
	[ "$(ask 'SELECT count() FROM tcp_close FINAL')" = "$((made - lost))" ]
}
await 60 stored
is "$(figure waiting)" 0 'nothing waits at the agents'
is "$lost" 0 'nothing was lost'
is "$(ask 'SELECT count() FROM tcp_close FINAL')" "$((made - lost))" 'every row is stored'
is "$(ask 'SELECT count() FROM tcp_close')" "$((made - lost))" 'once, even before parts are merged'
is "$(ask 'SELECT sum(missing) FROM (SELECT max(row) - uniqExact(row) AS missing FROM tcp_close GROUP BY host)')" 0 \
	'without gaps'
like "$(cat "$work/agents.err")" '503' 'and agents were told so'
stop collector-two TERM
diag "$(tail -n 1 "$work/collect-two.err")"
like "$(tail -n 1 "$work/collect-two.err")" '[1-9][0-9]* requests deferred' 'the collector counts what it refused'

# Five hosts accuse one address, of six that talk to it; another host accuses three that nobody else does.
insert() {
	curl -s -u nest:secret-of-nest --data-binary @- \
		"http://127.0.0.1:$server_port/?query=INSERT+INTO+nest.$1+FORMAT+JSONEachRow"
}
"$nest" ship demo:lossy-path --ship "$server" 2>/dev/null
now=$(date +%s)000000000
for host in a b c d e f; do
	echo "{\"host\":\"$host\",\"boot\":\"x\",\"stream\":1,\"row\":1,\"time_ns\":$now,\"raddr\":\"10.9.9.9\"}"
done | insert tcp_close
for host in a b c d e; do
	echo "{\"host\":\"$host\",\"boot\":\"x\",\"stream\":1,\"row\":1,\"time_ns\":$now,\"cause\":\"path-loss\"," \
		"\"module\":\"path:10.9.9.9\",\"certainty\":0.9}"
done | insert finding
for peer in 1 2 3; do
	echo "{\"host\":\"bad\",\"boot\":\"x\",\"stream\":1,\"row\":$peer,\"time_ns\":$now,\"cause\":\"peer-slow\"," \
		"\"module\":\"peer:10.8.8.$peer:80\",\"certainty\":0.7}"
done | insert finding
"$nest" report --fleet "$server" --last 10m >"$work/report" 2>"$work/err"
like "$(cat "$work/report")" '10.9.9.9: 5 of 6 hosts that talk to it report path-loss' 'what many accuse is at fault'
like "$(cat "$work/report")" 'bad: accuses 3 addresses that no other host accuses' 'and who accuses many alone'

# Without nest collect: JSON lines by HTTP.
before=$(ask 'SELECT count() FROM finding')
exported=$("$nest" export demo:slow-reader --format jsonl --table finding 2>/dev/null | tee "$work/lines" | wc -l)
question='input_format_skip_unknown_fields=1&query=INSERT+INTO+nest.finding+FORMAT+JSONEachRow'
curl -s -u nest:secret-of-nest --data-binary "@$work/lines" "http://127.0.0.1:$server_port/?$question"
is "$(ask 'SELECT count() FROM finding')" "$((before + exported))" 'lines of nest export are rows as well'

# Asking: the same figures as the server's own.
"$nest" report --fleet "$server" --last 9000h --json >"$work/report.json" 2>"$work/err"
is "$?" 0 'the report of the fleet'
counted=$(python3 -c 'import json, sys
print(sum(s["connections"] for s in json.load(open(sys.argv[1]))["services"]))' "$work/report.json")
is "$counted" "$(ask 'SELECT count() FROM tcp_close WHERE isNotNull(role)')" 'counts all connections'
finish
