#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 240
# Three agents on hosts of their own names ship to a real ClickHouse: two clients, and the server that both lose
# segments to. The rows at the server are those of the agents' recordings; the report names the address they share.
. "$(dirname "$0")/../live/lib.sh"
require_root
require_cmd python3
require_cmd curl
require_cmd nft
require_cmd ethtool
require_cmd sqlite3
require_cmd clickhouse-server
. "$(dirname "$0")/fleet.sh"

cat >"$room/source.py" <<'END'
# A stream that loses segments, and short connections; both until the end.
import socket, time
c = socket.create_connection(("10.96.9.2", 5001))
while True:
    c.sendall(b"x" * 50000)
    with socket.create_connection(("10.96.9.2", 5001)) as s:
        s.sendall(b"y" * 100)
    time.sleep(0.1)
END

cat >"$room/server.py" <<'END'
import socket, threading
def sink(c):
    with c:
        while c.recv(1 << 16): pass
s = socket.create_server(("10.96.9.2", 5001), backlog=128)
print("ready", flush=True)
while True:
    threading.Thread(target=sink, args=(s.accept()[0],), daemon=True).start()
END

for ns in one two router server_ns; do
	ns_make "$ns"
done
# leaf NAMESPACE ADDRESS GATEWAY
leaf() {
	ns_link "$1" "$2/24" "$router" "$3/24"
	in_ns "$1" ethtool -K "$link_dev" tso off gso off gro off >/dev/null
	in_ns "$1" ip route add default via "$3"
}
# shellcheck disable=SC2154 # set by ns_make
in_ns "$router" sysctl -qw net.ipv4.ip_forward=1
# shellcheck disable=SC2154
leaf "$one" 10.96.1.1 10.96.1.254
# shellcheck disable=SC2154
leaf "$two" 10.96.2.1 10.96.2.254
# shellcheck disable=SC2154
leaf "$server_ns" 10.96.9.2 10.96.9.254
ok 'ClickHouse starts' start_server
# start_agent HOST NAMESPACE: in a UTS namespace of its own.
start_agent() {
	unshare -u bash -c 'hostname "$1"; shift; exec "$@"' - "$1" "$nest" agent -N "$2" --store "$room/$1.nest" \
		--socket none --ship "$server" --conn-interval 3s --life-rate 1000 --max-cpu 0 2>"$room/$1.err" &
	note_process $!
	agent_pids+=($!)
	wait_ready "$room/$1.err"
}
start_agent web1 "$one"
start_agent web2 "$two"
start_agent db1 "$server_ns"
bg in_ns "$server_ns" python3 "$room/server.py" >"$room/server.out"
wait_for 20 test -s "$room/server.out"
in_ns "$router" nft -f - <<-END
	table ip f {
		chain c {
			type filter hook forward priority 0
			tcp dport 5001 meta length > 500 numgen random mod 100 < 3 drop
		}
	}
END
in_ns "$server_ns" nft -f - <<-END
	table ip f {
		chain c {
			type filter hook input priority 0
			udp dport 7000 drop
		}
	}
END
bg in_ns "$one" python3 "$room/source.py"
bg in_ns "$two" python3 "$room/source.py"
in_ns "$one" python3 -c '
import socket, time
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(40): u.sendto(b"z" * 100, ("10.96.9.2", 7000)); time.sleep(0.01)'
enough() {
	[ "$(ask 'SELECT count() FROM (SELECT host, sum(tx_segs) AS n FROM path_minute GROUP BY host
		HAVING n > 1500)')" = 2 ]
}
wait_for 90 enough
for pid in "${agent_pids[@]}"; do
	kill "$pid"
	wait "$pid"
done
diag "$(tail -qn 1 "$room"/*.err)"

# What an agent recorded is what the server has, up to the last row that arrived before the agent ended.
# here HOST TABLE ROW COLUMN: the sum of a column in the recording.
here() {
	sqlite3 "$room/$1.nest" "SELECT ifnull(sum($4), 0) FROM $2 WHERE rowid <= $3"
}
for host in web1 web2 db1; do
	for check in tcp_close:rx_bytes drop_minute:packets path_minute:closed service_minute:closed_tx_bytes; do
		table=${check%:*} column=${check#*:}
		last=$(ask "SELECT max(row) FROM $table WHERE host = '$host'")
		compare "$last" -gt 0 "$host: rows of $table arrive"
		is "$(ask "SELECT concat(toString(count()), ' ', toString(sum($column))) FROM $table
			WHERE host = '$host'")" "$last $(here "$host" "$table" "$last" "$column")" \
			'without a gap, with the figures of the recording'
	done
done
is "$(sqlite3 "$room/db1.nest" 'SELECT sum(packets) FROM drop_minute WHERE lport = 7000')" 40 'drops by flow'
is "$(sqlite3 "$room/db1.nest" 'SELECT sum(closed) FROM service_minute WHERE role = '\''server'\'' AND port = 5001')" \
	"$(sqlite3 "$room/db1.nest" 'SELECT count(*) FROM tcp_close WHERE lport = 5001')" \
	'the sums of a service are those of its connections'
is "$(ask "SELECT sum(count) > 0 FROM retransmit_minute WHERE host = 'web2' AND rport = 5001")" 1 \
	'retransmissions by flow'

"$nest" report --fleet "$server" --last 1h --json >"$room/report.json" 2>"$room/err"
is "$?" 0 'every question of the report is understood'
diag "$(cat "$room/err")$(figures "$room/report.json" 'r[0]["conclusions"]')"
like "$(figures "$room/report.json" 'r[0]["conclusions"]')" '10.96.9.2: 2 of 2 hosts' \
	'both accuse one address: it is that one'
is "$(figures "$room/report.json" '[x["hosts"] for x in r[0]["paths"] if x["raddr"] == "10.96.9.2"]')" '[2]' \
	'the path of both'
is "$(figures "$room/report.json" '[0.01 < x["retransmit_share"] < 0.08 for x in r[0]["paths"]
	if x["raddr"] == "10.96.9.2"]')" '[True]' 'retransmits as the rule drops'
is "$(figures "$room/report.json" '[(x["reason"], x["drops"]) for x in r[0]["drops"]
	if x["reason"] == "NETFILTER_DROP"]')" \
	"[('NETFILTER_DROP', 40)]" 'drops by reason'
is "$(figures "$room/report.json" 'sorted(x["role"] for x in r[0]["services"] if x["port"] == 5001)')" \
	"['client', 'server']" 'the service from both ends'
like "$("$nest" report --fleet "$server" --last 1h 2>&1)" 'Retransmissions by kind' 'the same as text'
"$nest" report --fleet "$server" --host web1 --from 2026-01-01T00:00:00 --json >"$room/host.json" 2>"$room/err"
is "$?" 0 'of one host, since a date' || diag "$(cat "$room/err")"
is "$(figures "$room/host.json" '(r[0]["host"], r[0]["accused"], [x["hosts"] for x in r[0]["paths"]])')" \
	"('web1', None, [1])" 'only its rows'
is "$(figures "$room/host.json" 'sum(x["findings"] for x in r[0]["findings"])')" \
	"$(ask "SELECT count() FROM finding FINAL WHERE host = 'web1'")" 'and all of its findings'
is "$("$nest" report --fleet "$server" --to 2026-01-01T00:00:00 2>&1 | tail -1)" 'No rows in this time.' 'another time'

# The same as JSON of the page, as its own document describes it.
nest_bg serve --fleet "$server"
serve_pid=$nest_pid
wait_for 30 test -s "$nest_out"
url=$(sed 's/#.*//' "$nest_out")
token=$(sed -n 's/.*#token=//p' "$nest_out")
printf '%s\n' 'GET /api/v1/fleet' 'GET /api/v1/fleet?host=web1&last=24h' 'GET /api/v1/fleet?to=2026-01-01T00:00:00Z' \
	>"$room/cases"
python3 "$live_dir/openapi.py" "$url" "$token" "$room/cases" >"$room/answers" 2>"$room/answers.err"
is "$?" 0 'answers of the page of a fleet are compared with openapi.json' || diag "$(cat "$room/answers.err")"
is "$(grep -c '^ok GET /api/v1/fleet' "$room/answers")" 3 'each is of its schema' || diag "$(cat "$room/answers")"
curl -s -H "Authorization: Bearer $token" "${url}api/v1/fleet?last=1h" >"$room/page.json"
is "$(figures "$room/page.json" 'r[0]["conclusions"]')" "$(figures "$room/report.json" 'r[0]["conclusions"]')" \
	'with the conclusions of nest report'
end_bg "$serve_pid"

# Loss that nobody took for a cause: the same report without findings.
curl -s "http://nest:secret-of-nest@127.0.0.1:$server_port/?database=nest" --data-binary 'TRUNCATE TABLE finding' \
	>"$room/out"
is "$(cat "$room/out")" '' 'findings are gone'
like "$("$nest" report --fleet "$server" --last 1h 2>/dev/null)" '10.96.9.2: 2 of 2 hosts that send to it retransmit' \
	'loss that several hosts share is a conclusion without findings'
finish
