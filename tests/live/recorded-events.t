#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 120
# Events of a recording: what a tool showed live it shows again from the file, byte by byte, one by one and added up.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3

ns_make host
in_ns "$host" ip link set lo up
cat >"$room/work.py" <<'END'
import socket
s = socket.socket(); s.bind(("127.0.0.1", 5001)); s.listen(50)
for i in range(20):
    c = socket.create_connection(("127.0.0.1", 5001)); a, _ = s.accept()
    c.sendall(b"x" * (1 + 1000 * i)); a.close(); c.close()
for port in range(1, 6):
    try: socket.create_connection(("127.0.0.1", port))
    except ConnectionRefusedError: pass
END
# work COMMAND ...: nest, while the work is done in the namespace.
work() {
	"$nest" "$@" -- nsenter --net="/run/netns/$host" -- python3 "$room/work.py"
}

work trace sock.connect --json --save "$room/trace.nest" >"$room/live" 2>"$room/live.err"
is "$?" 0 'events are shown and kept'
is "$(wc -l <"$room/live")" 25 'all of them'
"$nest" trace sock.connect --json -f "$room/trace.nest" >"$room/again" 2>"$room/again.err"
is "$?" 0 'and shown again'
ok 'the same bytes' cmp "$room/live" "$room/again"
is "$(tail -n 1 "$room/again.err")" 'nest: 25 events, 0 lost' 'and the same count'
work tcplife --save "$room/life.nest" >"$room/live" 2>/dev/null
"$nest" tcplife -f "$room/life.nest" >"$room/again" 2>/dev/null
ok 'a tool shows the same table' cmp "$room/live" "$room/again"
is "$("$nest" report "$room/life.nest" --json 2>/dev/null | python3 -c '
import json, sys
for t in json.load(sys.stdin)["talkers"]:
    if t["port"] == 5001 and t["way"] == "to":
        print(t["comm"], t["connections"], t["tx_bytes"], t["retrans_share"])')" \
	'python3 20 190020 None' 'the report knows connections by their ends'
work trace sock.connect --count --by error,comm --save "$room/count.nest" >"$room/live" 2>/dev/null
"$nest" trace sock.connect --count --by error,comm -f "$room/count.nest" >"$room/again" 2>/dev/null
ok 'what is added up is the same' cmp "$room/live" "$room/again"
like "$(cat "$room/again")" 'ECONNREFUSED +python3 +5' 'and right'
work trace sock.send,sock.connect --save "$room/two.nest" --json >"$room/live" 2>/dev/null
"$nest" trace sock.send,sock.connect -f "$room/two.nest" --json >"$room/again" 2>/dev/null
ok 'two events come in the order of their times' cmp <(sort "$room/live") <(sort "$room/again")

# Questions that were not asked live.
is "$("$nest" trace sock.connect -f "$room/trace.nest" \
	--where 'error == ECONNREFUSED and rport < 4' --json 2>/dev/null | wc -l)" 3 'a filter'
is "$("$nest" tcpconnect -f "$room/trace.nest" -x --json 2>/dev/null | wc -l)" 5 'another tool over the same events'
is "$("$nest" trace sock.connect -f "$room/trace.nest" --from +1h --json 2>/dev/null | wc -l)" 0 'a time'
"$nest" tcplife -f "$room/trace.nest" >/dev/null 2>"$room/err"
is "$?" 5 'events that were not recorded'
like "$(cat "$room/err")" 'has no tcp.close' 'are not made up'

# A recorder for several, long enough for samples.
printf 'import time\ntime.sleep(1)\n' >>"$room/work.py"
work record -o "$room/all.nest" -N "$host" diagnose tcplife sock.connect sock.send >"$room/out" 2>"$room/err"
is "$?" 0 'nest record takes events and tools'
is "$("$nest" tcplife -f "$room/all.nest" --json 2>/dev/null | wc -l)" 45 'every end of every connection'
is "$("$nest" sql "$room/all.nest" 'SELECT count(*) AS n, sum(error IS NOT NULL) AS failed FROM sock_connect' \
	--json 2>/dev/null)" '{"n":25,"failed":5}' 'in tables'
is "$("$nest" sql "$room/all.nest" 'SELECT DISTINCT event FROM attached ORDER BY 1' --csv 2>/dev/null |
	tr -d '\r' | tr '\n' ' ')" 'event oops sock.connect sock.send tcp.close ' 'with what was attached'
ok 'beside the snapshots' "$nest" sockets -f "$room/all.nest"
"$nest" record -o "$room/none.nest" nosuch >/dev/null 2>"$room/err"
is "$?" 2 'what is neither event nor tool'
like "$(cat "$room/err")" "'nosuch' is neither an event nor a tool" 'is refused'
ok 'before a file is made' test ! -e "$room/none.nest"
for option in "-p $$" '-P 80' '--where pid==1' '--stack' '--buffer 1MiB'; do
	# shellcheck disable=SC2086 # the option and its value
	"$nest" record -o "$room/none.nest" -d 1 $option >/dev/null 2>"$room/err"
	is "$?" 2 "${option%% *} without events"
	like "$(cat "$room/err")" "record: ${option%% *} needs events" 'says what is missing'
done
"$nest" record -o "$room/none.nest" -d 1 -p 4194305 diagnose tcplife >/dev/null 2>"$room/err"
is "$?" 2 'a process that is not there'
like "$(cat "$room/err")" 'there is no process 4194305' 'is reported as by the tools'
ok 'none of them made a file' test ! -e "$room/none.nest"

finish
