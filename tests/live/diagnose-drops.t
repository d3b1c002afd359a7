#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Packets that a host itself drops, seen by a look of 3 s that begins after the fault: at an end host and at a router,
# which has no socket of its own. Strangers, closed ports and broadcasts are nobody's trouble.
# timeout: 180
# vm: 150
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3 nft tc
grep -aq SKB_DROP_REASON_NETFILTER_DROP /sys/kernel/btf/vmlinux || skip_all 'this kernel gives no drop reasons'

# network N: client, router and server, joined by links; $c $r $s by number, addresses 10.94.N.2 and 10.94.N.66.
declare -A c r s
network() {
	ns_make client
	ns_make router
	ns_make server
	ns_link "$client" "10.94.$1.2/26" "$router" "10.94.$1.1/26"
	client_dev[$1]=$link_dev
	ns_link "$server" "10.94.$1.66/26" "$router" "10.94.$1.65/26"
	server_dev[$1]=$link_dev
	ip -n "$client" route add default via "10.94.$1.1"
	ip -n "$server" route add default via "10.94.$1.65"
	in_ns "$router" sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
	c[$1]=$client r[$1]=$router s[$1]=$server
}

# load NAMESPACE ROLE ADDRESS PORT: in the background, ready.
load() {
	nsenter --net="/run/netns/$1" -- \
		python3 "$(dirname "$0")/late-load.py" "$2" "$3" "$4" >"$room/$2-$3-$4" 2>/dev/null </dev/null &
	note_process "$!"
	wait_for 20 grep -q ready "$room/$2-$3-$4" || { diag "$2 on port $4 does not start"; exit 1; }
}

declare -A client_dev server_dev
for n in 1 2 3 4 5 6 7 8 9 10; do
	network $n
done
# Connections that exist before the fault: 2 and 5 through the router, 6 at the server, 10 at the client.
for n in 2 5 6 10; do
	load "${s[$n]}" sink "10.94.$n.66" 5000
	load "${c[$n]}" source "10.94.$n.66" 5000
done
# 1: a forward rule and attempts. 2: a rule that takes one of fifty.
ns_drop "${r[1]}" forward 'tcp dport 80 counter'
load "${c[1]}" connect 10.94.1.66 80
ns_drop "${r[2]}" forward 'tcp dport 5000 numgen random mod 50 < 1'
# 3: a blackhole. 4: the source would be answered elsewhere.
ip -n "${r[3]}" route add blackhole 10.94.203.0/24
load "${c[3]}" connect 10.94.203.3 80
# The filter also refuses to answer ARP.
ns_quiet "${c[4]}" "${client_dev[4]}" 10.94.4.1 "${r[4]}"
in_ns "${r[4]}" sh -c 'for f in /proc/sys/net/ipv4/conf/*/rp_filter; do echo 1 >$f; done'
ip -n "${r[4]}" route add 10.94.4.2/32 dev "${server_dev[4]}"
load "${c[4]}" connect 10.94.4.66 80
# 5: a queue that is too short. 6: an input rule, a connection.
tc -n "${r[5]}" qdisc add dev "${server_dev[5]}" root tbf rate 4mbit burst 5kb limit 15kb
ns_drop "${s[6]}" input 'tcp dport 5000'
# 7: an input rule, a listener, and datagrams.
load "${s[7]}" echo 10.94.7.66 5353
ns_drop "${s[7]}" input 'udp dport 5353'
load "${c[7]}" ask 10.94.7.66 5353
# 8: nothing is allowed but the port of a service, and a stranger tries others.
load "${s[8]}" sink 10.94.8.66 5000
ns_drop "${s[8]}" input 'tcp dport 20-80'
load "${c[8]}" scan 10.94.8.66 20
# 9: a closed port, and a broadcast that the firewall takes.
ns_drop "${s[9]}" input 'udp dport 137'
load "${c[9]}" connect 10.94.9.66 99
load "${r[9]}" ask 10.94.9.127 137

sleep 1.5
# look_at NAME NAMESPACE
look_at() {
	look "$room/verdict-$1" -N "$2" --json
}
for n in 1 2 3 4 5; do
	look_at $n "${r[$n]}"
done
wait_looks
# 10: a blackhole at the end host that comes and goes; the drop reason is that of a missing route.
for ((i = 0; i < 8; i++)); do
	ip -n "${c[10]}" route add blackhole 10.94.10.66/32
	sleep 0.6
	ip -n "${c[10]}" route del blackhole 10.94.10.66/32
	sleep 0.8
done &
note_process "$!"
look_at 10 "${c[10]}"
look_at 6 "${s[6]}"
look_at 7 "${s[7]}"
look_at 8 "${s[8]}"
look_at 8r "${r[8]}"
look_at 9 "${s[9]}"
look_at 9r "${r[9]}"
wait_looks

# first NAME: cause, module and what is affected.
first() {
	python3 - "$room/verdict-$1" <<-'END'
		import json, sys
		found = [json.loads(line) for line in open(sys.argv[1])][-1]["findings"]
		print(*([found[0]["cause"], found[0]["module"], *found[0]["affects"][:1]] if found else ["nothing"]))
	END
}
like "$(first 1)" '^firewall-drop filter:netfilter flow:tcp 10.94.1.2:[0-9]*-10.94.1.66:80$' 'a forward rule'
like "$(cat "$room/verdict-1")" 'rule [0-9]* of chain c \(table inet f\) dropped' 'with the rule whose counter moves'
like "$(first 2)" '^firewall-drop filter:netfilter flow:tcp 10.94.2.2:[0-9]*-10.94.2.66:5000$' 'a rule that drops 2 %'
like "$(first 3)" '^route-blackhole route:10.94.203.3 flow:tcp 10.94.3.2:[0-9]*-10.94.203.3:80$' 'a blackhole'
like "$(first 4)" '^rp-filter route:10.94.4.2 flow:tcp 10.94.4.2:[0-9]*-10.94.4.66:80$' 'rp_filter'
like "$(first 5)" "^qdisc-drops qdisc:${server_dev[5]} flow:tcp 10.94.5.2:[0-9]*-10.94.5.66:5000\$" 'a short queue'
like "$(first 10)" '^route-blackhole route:10.94.10.66 conn:10.94.10.2:' 'a blackhole that comes and goes'
like "$(first 6)" '^firewall-drop filter:netfilter conn:10.94.6.66:5000-10.94.6.2:' 'an input rule at the end host'
is "$(first 7)" 'firewall-drop filter:netfilter udp:10.94.7.66:5353' 'the same for datagrams'
is "$(first 8)" nothing 'a stranger who tries many ports is nobody'"'"'s trouble'
is "$(first 8r)" nothing 'nor at the router'
is "$(first 9)" nothing 'a closed port and a broadcast are not either'
like "$(first 9r)" '^(nothing|peer-refused .*)$' 'nor at the router, which may see the refusal'
finish
