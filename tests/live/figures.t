#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The kernel's own figures as nest counters, limits, links and sockets show them, beside nstat, ss, ip and ethtool.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3 nstat ss ip ethtool ping

ns_make a
ns_make b
ns_link "$a" 10.66.5.1/24 "$b" 10.66.5.2/24

# rows FILE PYTHON-EXPRESSION: of the JSON lines in r.
rows() {
	python3 -c 'import json, subprocess, sys
r = [json.loads(line) for line in open(sys.argv[1])]
print(eval("(" + sys.argv[2] + ")"))' "$1" "$2"
}

# --- counters --------------------------------------------------------------------------------------------------------

"$nest" counters -a -N "$a" --json >"$room/counters.json" 2>/dev/null
is "$(rows "$room/counters.json" '[e["counter"] for e in r if not e["meaning"]]')" \
	'[]' 'every counter has a sentence that says what it counts'
compare "$(rows "$room/counters.json" 'len({e["meaning"] for e in r})')" -gt 300 'and hardly two have the same'
is "$(rows "$room/counters.json" 'next(e["meaning"] for e in r if e["counter"] == "Icmp6OutEchos")')" \
	'ICMP echo requests (ping) sent' 'made of parts where there are many'

export XDG_STATE_HOME=$room/state NSTAT_HISTORY=$room/nstat
in_ns "$a" nstat >/dev/null
before=$(md5sum "$NSTAT_HISTORY")
"$nest" counters --last -N "$a" >"$room/first" 2>&1
in_ns "$a" ping -q -c 3 -i 0.01 10.66.5.2 >/dev/null
"$nest" counters --last -N "$a" --json >"$room/last.json" 2>/dev/null
is "$(rows "$room/last.json" '[(e["delta"], e["rate"] > 0) for e in r if e["counter"] == "IcmpOutEchos"]')" \
	'[(3, True)]' 'counters --last: what moved since the last look'
is "$(rows "$room/last.json" '[e for e in r if not e["delta"]]')" '[]' 'and nothing else'
is "$(md5sum "$NSTAT_HISTORY")" "$before" "nstat's history is not touched"
is "$(in_ns "$a" nstat --json | rows /dev/stdin 'r[0]["kernel"]["IcmpOutEchos"]')" 3 'and shows the same afterwards'
"$nest" counters --last -N "$a" --json --where 'counter == "IcmpOutEchos"' >"$room/again.json" 2>/dev/null
is "$(cat "$room/again.json")" '' 'asked again, it has not moved'
is "$(stat -c %a "$room/state/nest/counters")" 600 'kept for the user alone'
printf 'nest-counters-1 nonsense\n1 2 3\n' >"$room/state/nest/counters"
"$nest" counters --last -N "$a" --json --where 'counter == "IcmpOutEchos"' >"$room/again.json" 2>/dev/null
is "$(rows "$room/again.json" '[(e["value"], e["delta"]) for e in r]')" '[(3, None)]' 'a damaged file is as none'
ok 'explain knows counters' grep -q 'accepts too slowly' <("$nest" explain TcpExtListenOverflows)

# --- limits ----------------------------------------------------------------------------------------------------------

in_ns "$a" sysctl -qw net.ipv4.ip_local_port_range='40000 40009' \
	net.ipv4.ipfrag_high_thresh=5555555 net.ipv4.ipfrag_time=60
cat >"$room/hold.py" <<'END'
import socket, sys, time
listener = socket.socket()
listener.bind(("10.66.5.1", 4711))
listener.listen(7)
held = [socket.create_connection(("10.66.5.1", 4711)) for _ in range(3)]
# The first part of a packet whose second never comes.
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
raw.sendto(b"\x45\0\0\x3c\x12\x34\x20\0\x40\x11\0\0" + socket.inet_aton("10.66.5.1") * 2 + b"x" * 40, ("10.66.5.1", 0))
print("ready", flush=True)
time.sleep(300)
END
bg in_ns "$a" python3 "$room/hold.py" >"$room/hold.out" 2>&1
wait_for 20 grep -q ready "$room/hold.out"
wait_for 20 sh -c "nsenter --net=/run/netns/$a grep -q 'FRAG: inuse 1' /proc/self/net/sockstat"
"$nest" limits -N "$a" --json >"$room/limits.json" 2>/dev/null
is "$(rows "$room/limits.json" '[(e["of"], e["used"], e["max"]) for e in r if e["limit"] == "accept-queue"]')" \
	"[('10.66.5.1:4711', 3, 7)]" 'limits: connections that wait for an application that does not accept'
is "$(in_ns "$a" ss -Hltn 'sport = 4711' | awk '{print $2, $3}')" '3 7' 'as ss has it'
is "$(rows "$room/limits.json" '[(e["of"], e["used"], e["max"]) for e in r if e["limit"] == "local-ports"]')" \
	"[('10.66.5.1:4711', 3, 10)]" 'local ports taken by connections to one peer'
is "$(rows "$room/limits.json" '[(e["used"], e["max"], e["raise"]) for e in r if e["limit"] == "fragments-ipv4"]')" \
	"[($(in_ns "$a" sed -n 's/FRAG: inuse 1 memory //p' \
	/proc/self/net/sockstat), 5555555, 'net.ipv4.ipfrag_high_thresh')]" \
	'memory of fragments, as the kernel has it'
is "$(rows "$room/limits.json" \
	'sorted({"conntrack", "open-files", "neighbours-ipv4", "neighbours-ipv6", "receive-backlog", "time-wait",
	"fragments-ipv6"} - {e["limit"] for e in r} - {"conntrack"})')" '[]' 'tables, files and queues'
is "$(rows "$room/limits.json" '[e["max"] for e in r if e["limit"] in ("neighbours-ipv4", "receive-backlog")]')" \
	"[$(cat /proc/sys/net/ipv4/neigh/default/gc_thresh3), $(cat /proc/sys/net/core/netdev_max_backlog)]" \
	'with their settings'
is "$("$nest" limits -N "$a" --json 0.1 3 --where 'limit == "accept-queue"' 2>/dev/null | wc -l)" \
	3 'repeatedly, as often as requested'

# --- sockets ---------------------------------------------------------------------------------------------------------

"$nest" sockets -N "$a" --tcp --where 'rport == 4711 and state == ESTABLISHED' --json >"$room/sockets.json" 2>/dev/null
is "$(rows "$room/sockets.json" 'len(r)')" "$(in_ns "$a" ss -Htn state established 'dport = 4711' | wc -l)" \
	'sockets: by state and port, as many as ss'
is "$(rows "$room/sockets.json" 'sorted(e["lport"] for e in r)')" \
	"[$(in_ns "$a" ss -Htn state established 'dport = 4711' |
	awk '{sub(/.*:/, "", $3); print $3}' | sort -n | paste -sd, | sed 's/,/, /g')]" 'the same ones'
"$nest" sockets -N "$a" -l --format words >"$room/words" 2>/dev/null
ok 'a socket in words' grep -qE '^backlog_max +7 +[a-z]' "$room/words"

# --- links -----------------------------------------------------------------------------------------------------------

in_ns "$a" ethtool -K "$link_dev" tso off >/dev/null
nest_bg links -N "$a" -i "$link_dev" --json 0.5
wait_for 10 test -s "$nest_out"
in_ns "$a" ping -q -f -c 500 -s 1000 10.66.5.2 >/dev/null
wait_for 10 sh -c "[ \$(wc -l <$nest_out) -ge 4 ]"
end_bg "$nest_pid"
is "$(rows "$nest_out" 'all(abs(y["tx_rate"] * 8 / 1e10 - y["util"]) < 1e-9
	or y["rx_rate"] > y["tx_rate"] for y in r)')" True 'links: utilisation is the rate of the speed'
# 500 packets of 1042 bytes, whatever interval they fell into.
compare "$(rows "$nest_out" 'int(sum((y["tx_rate"] or 0) * 0.5 for y in r))')" -ge 400000 'bytes a second' ||
	diag "$(cat "$nest_out")"
is "$(rows "$nest_out" 'r[-1]["speed"]')" \
	"$(in_ns "$a" ethtool "$link_dev" | sed -n 's/.*Speed: \([0-9]*\)Mb.*/\1000000/p')" \
	'the speed, in repeated looks too'

# What the drivers of the host's own interfaces say is only read; those of the test know less.
device=$(for d in /sys/class/net/*/device; do [ -e "$d" ] && basename "$(dirname "$d")" && break; done)
detail_checks() {
	local run=$1 dev=$2 name=$3
	shift 3
	"$nest" links -e -i "$dev" "$@" --json >"$room/details.json" 2>/dev/null
	is "$(rows "$room/details.json" '[e["text"] for e in r if e["part"] == "driver" and e["name"] == "driver"]')" \
		"['$($run ethtool -i "$dev" | sed -n 's/^driver: //p')']" "links -e: the driver of $name"
	$run ethtool -k "$dev" | sed 's/^[ \t]*//' >"$room/offloads"
	is "$(rows "$room/details.json" "[e for e in r if e['part'] == 'offload'
		and (l := next((l.split() for l in open('$room/offloads') if l.split()[0] == e['name'] + ':'), None))
		and (l[1] != e['text'] or (len(l) > 2 and l[2] == '[fixed]') != e['fixed'])]")" '[]' "offloads of $name"
	$run ethtool -S "$dev" 2>/dev/null | sed 's/^ *//' >"$room/statistics"
	is "$(rows "$room/details.json" "sorted(e['name'] for e in r if e['part'] == 'statistic') ==
		sorted(l.rsplit(':', 1)[0] for l in open('$room/statistics') if l.rsplit(':', 1)[1].strip())")" \
		True "the driver's own counters of $name"
	$run ethtool -g "$dev" >"$room/rings" 2>/dev/null
	is "$(rows "$room/details.json" \
		"[(e['value'], e['max']) for e in r if e['part'] == 'ring' and e['name'] == 'rx']")" \
		"[$(awk '/^RX:/ && $2 ~ /[0-9]/ {v[n++] = $2} END {if (n == 2) printf "(%d, %d)", v[1], v[0]}' \
		"$room/rings")]" "rings of $name"
}
detail_checks "in_ns $a" "$link_dev" veth -N "$a"
compare "$(rows "$room/details.json" 'sum(e["part"] == "statistic" for e in r)')" -gt 0 'there are some'
is "$(rows "$room/details.json" '[e["text"] for e in r if e["name"] == "tx-tcp-segmentation"]')" \
	"['off']" 'an offload that was switched off'
if [ -n "$device" ]; then
	detail_checks '' "$device" 'a real interface'
	like "$(rows "$room/details.json" \
		'[e["value"] for e in r if e["part"] == "coalesce" and e["name"] == "rx-usecs"]')" \
		"^\[($(ethtool -c "$device" 2>/dev/null | sed -n 's/^rx-usecs:[ \t]*//p'))?\]$" 'coalescing'
else
	skip 'a real interface' 'this host has none'
fi

finish
