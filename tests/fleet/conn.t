#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 240
# Two agents on hosts of their own names ship to a real ClickHouse; nest diagnose --fleet --conn sees one connection
# from both ends. First every 20th segment is dropped between them, then the reader stops.
. "$(dirname "$0")/../live/lib.sh"
require_root
require_cmd python3
require_cmd curl
require_cmd nft
require_cmd ethtool
require_cmd clickhouse-server
. "$(dirname "$0")/fleet.sh"

cat >"$room/source.py" <<'END'
import socket, time
c = socket.create_connection(("10.96.2.2", 5001))
print(c.getsockname()[1], flush=True)
while True:
    c.sendall(b"x" * 50000)
    time.sleep(0.05)
END

# client - router - server
for ns in client router server_ns; do
	ns_make "$ns"
done
# shellcheck disable=SC2154 # set by ns_make
ns_link "$client" 10.96.1.1/24 "$router" 10.96.1.254/24
in_ns "$client" ethtool -K "$link_dev" tso off gso off gro off >/dev/null
# shellcheck disable=SC2154
ns_link "$server_ns" 10.96.2.2/24 "$router" 10.96.2.254/24
in_ns "$server_ns" ethtool -K "$link_dev" tso off gso off gro off >/dev/null
in_ns "$router" sysctl -qw net.ipv4.ip_forward=1
in_ns "$client" ip route add 10.96.2.0/24 via 10.96.1.254
in_ns "$server_ns" ip route add 10.96.1.0/24 via 10.96.2.254
ok 'ClickHouse starts' start_server
# start_agent HOST NAMESPACE: in a UTS namespace of its own.
start_agent() {
	unshare -u bash -c 'hostname "$1"; shift; exec "$@"' - "$1" "$nest" agent -N "$2" --store "$room/$1.nest" \
		--socket none --ship "$server" --conn-interval 2s 2>"$room/$1.err" &
	note_process $!
	agent_pids+=($!)
	wait_ready "$room/$1.err"
}
start_agent web1 "$client"
start_agent db1 "$server_ns"
sink "$server_ns" 10.96.2.2 5001
bg in_ns "$client" python3 "$room/source.py" >"$room/port"
wait_for 20 test -s "$room/port" || exit 1
conn=10.96.1.1:$(cat "$room/port")-10.96.2.2:5001
in_ns "$router" nft -f - <<-END
	table ip f {
		counter seen { }
		counter dropped { }
		chain c {
			type filter hook forward priority 0
			tcp dport 5001 meta length > 500 counter name seen
			tcp dport 5001 meta length > 500 numgen inc mod 20 == 0 counter name dropped drop
		}
	}
END
# rows HOST: of the connection, at the server.
rows() {
	ask "SELECT count() FROM conn_minute WHERE host = '$1' AND (lport = 5001 OR rport = 5001)"
}
has_rows() {
	[ "$(rows web1)" -ge "$1" ] && [ "$(rows db1)" -ge "$1" ]
}
wait_for 60 has_rows 5
ok 'both agents ship rows of the connection' has_rows 5
"$nest" diagnose --fleet "$server" --conn "$conn" --json >"$room/lossy.json" 2>"$room/err"
is "$?" 0 'the connection is diagnosed from both ends'
diag "$(cat "$room/err"); $(figures "$room/lossy.json" '[(e["out_segs"], e["out_lost_segs"]) for e in r[0]["ends"]]')"
is "$(figures "$room/lossy.json" 'r[0]["seen_from"]')" "['web1', 'db1']" 'seen_from names both hosts'
counts=$(in_ns "$router" nft -j list counters | from_json \
	'{c["counter"]["name"]: c["counter"]["packets"] for c in j["nftables"] if "counter" in c}')
is "$(figures "$room/lossy.json" "abs(r[0]['ends'][0]['out_lost_share'] -
	${counts}['dropped'] / ${counts}['seen']) < 0.01")" True \
	'the share of lost segments is that of the rule that drops them'
is "$(figures "$room/lossy.json" 'r[0]["findings"][0]["cause"]')" path-loss 'the path is to blame'
"$nest" diagnose --fleet "$server" --conn "${conn#*-}-${conn%-*}" --json >"$room/turned.json" 2>/dev/null
is "$(figures "$room/turned.json" 'r[0]["seen_from"], r[0]["ends"][0]["out_lost_segs"]')" "(['db1', 'web1'], None)" \
	'turned round, nothing was sent'
like "$("$nest" diagnose --fleet "$server" --conn "$conn" 2>/dev/null)" 'segments from web1, .* at db1 .*lost' \
	'the text has the figures of both'

in_ns "$router" nft delete table ip f
kill -STOP "$sink_pid"
# found HOST CAUSE
found() {
	[ "$(ask "SELECT count() FROM finding WHERE host = '$1' AND cause = '$2'")" -gt 0 ]
}
wait_for 60 found db1 app-not-reading
wait_for 60 found web1 peer-not-reading
ok 'each end has a finding of its own' eval 'found db1 app-not-reading && found web1 peer-not-reading'
"$nest" diagnose --fleet "$server" --conn "$conn" --last 10s --json >"$room/stopped.json" 2>"$room/err"
diag "$(cat "$room/err") $(figures "$room/stopped.json" '[(f["cause"], f["certainty"]) for f in r[0]["findings"]]')"
like "$(figures "$room/stopped.json" '[f["cause"] for f in r[0]["findings"]]')" app-not-reading \
	'the program on db1 is to blame'
unlike "$(figures "$room/stopped.json" '[f["cause"] for f in r[0]["findings"]]')" peer-not-reading \
	'what the other end only inferred is left out'
kill -CONT "$sink_pid"

# What does not fit
"$nest" diagnose --fleet "$server" --conn 10.0.0.1-10.0.0.2 >/dev/null 2>"$room/err"
is "$?" 2 'a connection without ports is refused'
"$nest" diagnose --fleet "$server" --conn 10.0.0.1:1-10.0.0.2:2 >/dev/null 2>"$room/err"
is "$?" 5 'a connection that nobody has is an error'
like "$(cat "$room/err")" 'no host has rows of 10.0.0.1:1-10.0.0.2:2' 'that says so'
"$nest" diagnose --conn "$conn" >/dev/null 2>"$room/err"
is "$?" 2 '--conn needs --fleet'
for pid in "${agent_pids[@]}"; do
	kill "$pid"
	wait "$pid"
done
finish
