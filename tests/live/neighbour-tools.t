#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# neighlat: neighbours that answer at once, by ARP and by IPv6, late, and not at all.
# vm: 13
. "$(dirname "$0")/lib.sh"
require_root
require_cmd ping python3 tcpdump

ns_make client
ns_make server
ns_link "$client" 10.90.0.1/24 "$server" 10.90.0.2/24
ip -n "$client" addr add fd90::1/64 dev "$link_dev" nodad
ip -n "$server" addr add fd90::2/64 dev "$link_dev" nodad

nest_bg neighlat -N "$client" --json
wait_ready "$nest_err" 60 || exit 1
nsenter --net="/run/netns/$client" -- \
	tcpdump -i "$link_dev" -U --immediate-mode -w "$room/arp.pcap" arp >/dev/null 2>"$room/tcpdump.err" &
capture=$!
note_process "$capture"
wait_for 30 grep -q 'listening on' "$room/tcpdump.err" || exit 1

# An address added 400 ms after the first solicitation: the second one, a second later, is answered.
has_asked() {
	[ "$(stat -c %s "$room/arp.pcap")" -gt 24 ]
}
(wait_for 20 has_asked && sleep 0.4 && ip -n "$server" addr add 10.90.0.77/24 dev "$link_dev") &
late=$!
ok 'a neighbour answers late' in_ns "$client" ping -c 1 -W 5 -q 10.90.0.77
wait "$late"
ok 'a neighbour answers' in_ns "$client" ping -c 1 -W 5 -q 10.90.0.2
ok 'a neighbour answers by IPv6' in_ns "$client" ping -c 1 -W 5 -q fd90::2
in_ns "$client" ping -c 1 -W 4 -q 10.90.0.99 >/dev/null
has_failed() {
	grep -q 10.90.0.99 "$nest_out"
}
ok 'the one that is not there is reported' wait_for 10 has_failed
end_bg "$nest_pid"
end_bg "$capture" TERM
asked=$(tcpdump -nr "$room/arp.pcap" 2>/dev/null | grep -c 'who-has 10.90.0.99 ')
# From the first solicitation to the answer on the wire, in milliseconds.
wire=$(tcpdump -ttnr "$room/arp.pcap" 2>/dev/null | awk \
	'/who-has 10.90.0.77 / && !first { first = $1 } /Reply 10.90.0.77 / { print int(($1 - first) * 1000); exit }')

# of ADDRESS EXPRESSION: records of one neighbour in r.
of() {
	python3 -c 'import json, sys
r = [e for e in map(json.loads, open(sys.argv[1])) if e["raddr"] == sys.argv[2]]
print(eval("(" + sys.argv[3] + ")"))' "$nest_out" "$1" "$2"
}
is "$(of 10.90.0.2 '[(e["dev"], e["error"], e["family"], 0 < e["lat_ns"] < 200e6) for e in r]')" \
	"[('$link_dev', None, 'ipv4', True)]" 'ARP that is answered at once'
is "$(of fd90::2 '[(e["dev"], e["error"], e["family"], 0 < e["lat_ns"] < 200e6) for e in r]')" \
	"[('$link_dev', None, 'ipv6', True)]" 'IPv6 that is answered at once'
compare "$wire" -gt 390 'the late answer was late on the wire'
is "$(of 10.90.0.77 "[abs(e['lat_ns'] / 1e6 - $wire) < 50 for e in r]")" '[True]' 'as late as on the wire'
is "$(of 10.90.0.99 '[(e["error"], e["probes"]) for e in r]')" \
	"[('EHOSTUNREACH', $asked)]" 'no answer, after as many questions as on the wire'
finish
