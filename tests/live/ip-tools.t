#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# IP tools against the kernel's counters: ECN marks, fragments and reassembly.
# vm: 54
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3 nft nstat ping

ns_make client
ns_make server
ns_link "$client" 10.94.0.1/24 "$server" 10.94.0.2/24
ip -n "$client" addr add fd94::1/64 dev "$link_dev" nodad
ip -n "$server" addr add fd94::2/64 dev "$link_dev" nodad
for ns in "$client" "$server"; do
	in_ns "$ns" sh -c 'echo 1 >/proc/sys/net/ipv4/tcp_ecn'
done
in_ns "$server" sh -c 'echo 2 >/proc/sys/net/ipv4/ipfrag_time; echo 2 >/proc/sys/net/ipv6/ip6frag_time'
# A congested hop: marks all ECN-capable packets of one connection at egress.
in_ns "$client" nft -f - <<-END || exit 1
	table ip hop {
		chain out {
			type filter hook postrouting priority 0;
			tcp dport 29021 ip ecn ect0 ip ecn set ce
		}
	}
END
ip -n "$client" route add 10.95.1.0/24 via 10.94.0.2
ip -n "$client" route add unreachable 10.95.2.0/24
ip -n "$client" route add prohibit 10.95.3.0/24
ip -n "$client" -6 route add fd95:1::/64 via fd94::2
ip -n "$client" -6 route add prohibit fd95:3::/64
in_ns "$client" ping -c 1 -W 5 -q 10.94.0.2 >/dev/null && in_ns "$client" ping -c 1 -W 5 -q fd94::2 >/dev/null || exit 1

declare -A out err pid
# as NAME: names the process started last.
as() {
	out[$1]=$nest_out err[$1]=$nest_err pid[$1]=$nest_pid
}
nest_bg ipecn -a -N "$client" --json
as sent
nest_bg ipecn -a -N "$server" --json
as got
nest_bg ipecn -N "$server" --json
as marked
nest_bg ipfrag -N "$client" --json
as cut
nest_bg ipfrag -N "$server" --json
as frag
nest_bg routelat --where 'raddr in (10.95.0.0/16, fd95::/16)' --json
as route
for tool in "${!pid[@]}"; do
	nest_pid=${pid[$tool]} wait_ready "${err[$tool]}" 60 || exit 1
done

# counters NAMESPACE NAME ...: their values, one per line.
counters() {
	local ns=$1 name
	shift
	for name; do
		in_ns "$ns" nstat -asz "$name" | awk 'NR > 1 { print $2 }'
	done
}
ecn_names='IpExtInCEPkts IpExtInECT0Pkts IpExtInECT1Pkts Ip6InCEPkts Ip6InECT0Pkts Ip6InECT1Pkts'
cut_names='IpFragCreates Ip6FragCreates'
frag_names='IpReasmReqds IpReasmOKs IpReasmTimeout IpReasmFails Ip6ReasmReqds Ip6ReasmOKs Ip6ReasmTimeout Ip6ReasmFails'
all() {
	# shellcheck disable=SC2086 # names
	{
		counters "$server" $ecn_names $frag_names
		counters "$client" $cut_names
	}
}
all >"$room/before"
mkfifo "$room/hold"
nsenter --net="/run/netns/$server" -- python3 "$live_dir/ip-load.py" sink <"$room/hold" >"$room/sink" &
note_process "$!"
sink=$!
exec {hold}>"$room/hold"
wait_for 20 grep -q ready "$room/sink" || exit 1
load() {
	nsenter --net="/run/netns/$client" -- timeout 60 python3 "$live_dir/ip-load.py" "$@"
}
ok 'packets with marks' load marks
ok 'a connection that is marked' load bulk
ok 'packets in fragments' load large
ok 'that come whole' wait_for 20 grep -q all "$room/sink"
ok 'fragments without the rest' load parts 4 100 5
ok 'and by IPv6' load parts 6 200 5
late() {
	[ "$(grep -c '"error":"ETIMEDOUT"' "${out[frag]}")" -ge 10 ]
}
ok 'the rest never arrives' wait_for 30 late
# Memory for a few fragments only.
in_ns "$server" sh -c 'cd /proc/sys/net/ipv4
	echo 600 >ipfrag_time; echo 1 >ipfrag_low_thresh; echo 10000 >ipfrag_high_thresh'
ok 'more fragments than there is room for' load parts 4 300 23
full() {
	[ "$(grep -c '"error":"ENOMEM"' "${out[frag]}")" -ge 5 ]
}
ok 'are refused' wait_for 20 full
# One lookup per table each.
for _ in {1..7}; do
	in_ns "$client" ip route get 10.95.1.9
	in_ns "$client" ip -6 route get fd95:1::9
done >"$room/routes"
for forbidden in 10.95.2.9 10.95.3.9 fd95:3::9; do
	in_ns "$client" ip route get "$forbidden"
done >/dev/null 2>"$room/forbidden"
# A received packet.
in_ns "$server" ip route add 10.95.1.0/24 via 10.94.0.1
in_ns "$server" ip -6 route add fd95:1::/64 via fd94::1
for address in 10.95.1.7 fd95:1::7; do
	in_ns "$server" ping -c 1 -W 1 -q "$address" >/dev/null
done
routed() {
	grep -q 10.95.1.7 "${out[route]}" && grep -q fd95:1::7 "${out[route]}"
}
ok 'routes are looked up' wait_for 20 routed
all >"$room/after"
exec {hold}>&-
wait "$sink"
for tool in "${!pid[@]}"; do
	end_bg "${pid[$tool]}"
done
# moved NAME: change of a counter.
# shellcheck disable=SC2086 # names
printf '%s\n' $ecn_names $frag_names $cut_names | paste -d ' ' - "$room/before" "$room/after" >"$room/moved"
moved() {
	awk -v name="$1" '$1 == name { print $3 - $2 }' "$room/moved"
}
for mark in CE ECT0 ECT1; do
	for version in 4 6; do
		name=IpExtIn${mark}Pkts
		[ "$version" = 4 ] || name=Ip6In${mark}Pkts
		is "$(figures "${out[got]}" "sum(e['segs'] for e in r if e['dir'] == 'rx'
			and e['ecn'] == '$mark' and e['family'] == 'ipv$version')")" "$(moved "$name")" "ipecn: $name"
		case $mark in CE) want=37 ;; ECT0) want=19 ;; ECT1) want=11 ;; esac
		leaving="('tx', '$mark', 'ipv$version', 29020, 'python3', 8, $((version == 4 ? 107 : 127)))"
		is "$(figures "${out[sent]}" "len([e for e in r if $leaving ==
			(e['dir'], e['ecn'], e['family'], e['rport'], e['comm'], e['dscp'], e['bytes'])])")" "$want" \
			"ipecn: IPv$version with $mark as they leave, and whose"
	done
done
marked=$(figures "${out[got]}" "len([e for e in r if e['ecn'] == 'CE'])")
is "$(figures "${out[marked]}" "{e['ecn'] for e in r}, len(r) == $marked")" \
	"({'CE'}, True)" 'ipecn: without -a only what was marked'
# Packets before the first answer of the connection have no owner yet.
is "$(figures "${out[marked]}" "sum(e['segs'] for e in r if e['lport'] == 29021 and e['dir'] == 'rx') > 1,
	{(e['pid'], e['comm']) for e in r if e['lport'] == 29021 and e['dir'] == 'rx'} - {(None, None)}")" \
	"(True, {($sink, 'python3')})" 'ipecn: whose connection gets marked packets'

for version in 4 6; do
	family="e['family'] == 'ipv$version'"
	p=Ip
	[ "$version" = 4 ] || p=Ip6
	is "$(figures "${out[cut]}" "len([e for e in r if e['what'] == 'tx'
		and $family and not e['raddr'] is None and e['comm'] == 'python3' and e['bytes'] != 1008])")" \
		"$(moved ${p}FragCreates)" "ipfrag: ${p}FragCreates"
	is "$(figures "${out[frag]}" "len([e for e in r if e['what'] == 'rx' and $family])")" \
		"$(moved ${p}ReasmReqds)" "ipfrag: ${p}ReasmReqds"
	is "$(figures "${out[frag]}" "len([e for e in r if e['whole'] and $family])")" \
		"$(moved ${p}ReasmOKs)" "ipfrag: ${p}ReasmOKs"
	is "$(figures "${out[frag]}" "len([e for e in r if e['error'] == 'ETIMEDOUT' and $family])")" \
		"$(moved ${p}ReasmTimeout)" "ipfrag: ${p}ReasmTimeout"
	is "$(figures "${out[frag]}" "len([e for e in r if e['what'] == 'lost' and $family])")" \
		"$(moved ${p}ReasmFails)" "ipfrag: ${p}ReasmFails"
	is "$(moved ${p}ReasmOKs)" 7 "ipfrag: IPv$version, the kernel made seven packets whole"
	is "$(figures "${out[frag]}" "{sum(e['bytes'] for e in r if e['id'] == i and $family)
		for i in {e['id'] for e in r if e['whole'] and $family}}")" \
		"{7927}" "ipfrag: IPv$version, bytes of each with the header of UDP"
	is "$(figures "${out[frag]}" "sorted((int(e['id'], 16), e['bytes'], e['offset'], 1.5e9 < e['lat_ns'] < 20e9)
		for e in r if e['error'] == 'ETIMEDOUT' and $family)")" \
		"$(python3 -c "print([($version * 50 - 100 + i, 1008, 0, True) for i in range(5)])")" \
		"ipfrag: IPv$version, which ones, and when they were given up"
done
is "$(figures "${out[frag]}" \
	"{(e['mem_limit'], e['mem_bytes'] > 10000, int(e['id'], 16) >= 300) for e in r if e['error'] == 'ENOMEM'}")" \
	'{(10000, True, True)}' 'ipfrag: the limit that was hit'
# Output of ip: "10.95.1.9 via 10.94.0.2 dev v1 src ...".
is "$(sort -u "$room/routes" | grep -o '10.95.1.9 via .* dev [^ ]*')" \
	"10.95.1.9 via 10.94.0.2 dev $link_dev" 'ip knows the route'
is "$(figures "${out[route]}" \
	"[(e['table'], e['gateway'], e['dev'], e['error']) for e in r if e['raddr'] == '10.95.1.9']")" \
	"$(python3 -c "print([('main', '10.94.0.2', '$link_dev', None)] * 7)")" \
	'routelat: each look-up once, with what ip says'
main6="[e for e in r if e['raddr'] == 'fd95:1::9' and e['table'] == 'main']"
is "$(figures "${out[route]}" "[(e['gateway'], e['dev'], e['error']) for e in $main6]")" \
	"$(python3 -c "print([('fd94::2', '$link_dev', None)] * 7)")" 'routelat: and by IPv6'
# Another lookup may interrupt between the two tables: then the latency is unknown.
is "$(figures "${out[route]}" "len([e for e in $main6 if e['lat_ns'] is not None]) >= 3,
	[e for e in $main6 if e['lat_ns'] is not None and not 0 < e['lat_ns'] < 1e7]")" \
	'(True, [])' 'routelat: the time that the main table took'
is "$(figures "${out[route]}" "{(e['raddr'], e['error']) for e in r if e['error'] not in (None, 'EAGAIN')} ==
	{('10.95.2.9', 'EHOSTUNREACH'), ('10.95.3.9', 'EACCES'), ('fd95:3::9', 'EACCES')}")" \
	True 'routelat: what routes forbid'
is "$(figures "${out[route]}" "len([e for e in r if e['raddr'] == '10.95.1.7'
	and e['lat_most_ns'] is not None and 0 < e['lat_most_ns'] < 1e8 and e['laddr'] == '10.94.0.2']) >= 1")" \
	True 'routelat: a packet that arrives, at most since then'
finish
