#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# nest collect between agents and a ClickHouse, none of which behaves: what it acknowledged arrives once.
. "$(dirname "$0")/lib.sh"
require_cmd python3 curl
unset http_proxy https_proxy all_proxy

bg python3 "$live_dir/fake-clickhouse.py" "$room/port"
wait_for 30 test -s "$room/port"
server=http://127.0.0.1:$(cat "$room/port")
echo 0123456789abcdef0123456789abcdef >"$room/token"
chmod 600 "$room/token"

rows() {
	curl -s "$server/rows" | python3 -c '
import json, sys
rows = json.load(sys.stdin)["tables"].get(sys.argv[1], {"rows": []})["rows"]
print(len(rows), len({(r["host"], r["boot"], r["stream"], r["row"]) for r in rows}))' "$1"
}

# collect [OPTION ...]: starts one; its URL is in $collector, its pid in $collect_pid.
collect() {
	: >"$room/url"
	bg "$nest" collect --listen 127.0.0.1:0 --ship "$server/fleet" --spool "$room/spool" \
		--token-file "$room/token" "$@" >"$room/url" 2>"$room/collect.err"
	collect_pid=$bg_pid
	wait_for 20 test -s "$room/url"
	collector=$(sed 's|/$||' "$room/url")
}

agent() {
	python3 "$live_dir/collect-agent.py" "$collector" "${2-$(cat "$room/token")}" "$1"
}

rows_are() {
	[ "$(rows "$1")" = "$2" ]
}

"$nest" collect --ship "$server/fleet" --spool "$room/spool" 2>"$room/err"
is "$?" 2 'a collector needs a token'
"$nest" collect --listen 0.0.0.0:0 --ship "$server/fleet" --spool "$room/spool" --token-file "$room/token" 2>"$room/err"
is "$?" 2 'and TLS on the network'

collect
is "$(agent good)" '200 {"rows":5,"doubles":0,"refused":0}' 'batches are taken'
is "$(agent again)" '200 {"rows":0,"doubles":5,"refused":0}' 'once'
like "$(agent good wrong-token-0123456789)" '^401 ' 'not without the token'
like "$(agent garbage)" '^400 .*byte 0' 'garbage'
like "$(agent cut)" '^400 ' 'a frame that is cut'
like "$(agent damaged)" '^400 ' 'a frame that was changed'
like "$(agent empty)" '^400 ' 'nothing'
like "$(agent large)" '^(413|0) ' 'too much'
is "$(agent table)" '200 {"rows":3,"doubles":0,"refused":3}' 'a table that does not exist spoils nothing else'
for what in host bomb json; do
	is "$(agent $what)" '200 {"rows":0,"doubles":0,"refused":3}' "$what: refused"
done
is "$(agent rows)" '200 {"rows":0,"doubles":0,"refused":4}' 'rows: refused as many as it says'
is "$(agent retry)" '200 {"rows":3,"doubles":0,"refused":0}' 'a batch that was sent before'
wait_for 20 rows_are mark '9 9'
is "$(rows mark) $(rows loss)" '9 9 2 2' 'what was taken arrives once'
like "$(curl -s "$server/rows")" 'SELECT DISTINCT host[^"]*row = 100' 'the one sent before was looked for'

# ClickHouse is away, then the collector is killed: the spool has what was acknowledged.
curl -s "$server/mode/500/1000"
"$nest" ship demo:lossy-path --ship "$collector" --token-file "$room/token" --timeout 20 2>"$room/err"
is "$?" 0 'the collector takes what ClickHouse does not'
shipped=$(sed -n 's/^nest: \([0-9]*\) rows shipped.*/\1/p' "$room/err")
kill -KILL "$collect_pid"
wait "$collect_pid" 2>/dev/null
curl -s "$server/mode/cut/1"
collect
findings=$("$nest" export demo:lossy-path --format jsonl --table finding 2>/dev/null | wc -l)
wait_for 30 rows_are finding "$findings $findings"
is "$(rows finding)" "$findings $findings" 'after a kill and a cut reply every row is there once'
ok 'and the agent was told of all of them' test "$shipped" -gt "$findings"
kill -TERM "$collect_pid"
wait "$collect_pid" 2>/dev/null
like "$(tail -n 1 "$room/collect.err")" '0 wait in the spool' 'the closing line counts'

# A full spool refuses, and an agent that sends too much is told to wait.
curl -s "$server/mode/500/1000"
collect --spool-size 1MiB --agent-rate 0
like "$(agent many)" '^[0-9]+ 503$' 'a full spool is no acknowledgement'
kill -TERM "$collect_pid"
wait "$collect_pid" 2>/dev/null
curl -s "$server/mode/ok/0"
rm -rf "$room/spool"
collect --agent-rate 4k
like "$(agent many)" '^[0-9]+ 429$' 'an agent over its limit waits'
is "$(agent retry | cut -d' ' -f1)" 200 'others do not'
kill -TERM "$collect_pid"
finish
