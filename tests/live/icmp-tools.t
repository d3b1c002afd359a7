#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# icmpsnoop and superping against the kernel's counters, a capture and ping, through a router whose second link has a
# smaller MTU than its first.
# vm: 40
. "$(dirname "$0")/lib.sh"
require_root
require_cmd ping python3 tcpdump nstat

ns_make client
ns_make router
ns_make server
ns_link "$client" 10.93.1.1/24 "$router" 10.93.1.2/24
near=$link_dev
ns_link "$router" 10.93.2.1/24 "$server" 10.93.2.2/24
far=$link_dev
ip -n "$client" addr add fd93:1::1/64 dev "$near" nodad
ip -n "$router" addr add fd93:1::2/64 dev "$near" nodad
ip -n "$router" addr add fd93:2::1/64 dev "$far" nodad
ip -n "$server" addr add fd93:2::2/64 dev "$far" nodad
ip -n "$router" link set "$far" mtu 1300
in_ns "$router" sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/ipv6/conf/all/forwarding'
for ns in "$router" "$server"; do
	in_ns "$ns" sh -c 'echo 0 >/proc/sys/net/ipv4/icmp_ratelimit; echo 0 >/proc/sys/net/ipv6/icmp/ratelimit'
done
ip -n "$client" route add default via 10.93.1.2
ip -n "$client" -6 route add default via fd93:1::2
ip -n "$server" route add default via 10.93.2.1
ip -n "$server" -6 route add default via fd93:2::1
ip -n "$router" route add unreachable 10.93.3.0/24
ip -n "$router" route add prohibit 10.93.4.0/24
ip -n "$router" -6 route add prohibit fd93:4::/64
in_ns "$client" ping -c 1 -W 5 -q 10.93.2.2 >/dev/null || { diag 'the router does not forward'; exit 1; }
in_ns "$client" ping -c 1 -W 5 -q fd93:2::2 >/dev/null || { diag 'the router does not forward IPv6'; exit 1; }

# --- icmpsnoop ---

nest_bg icmpsnoop -N "$client" --json
client_out=$nest_out client_err=$nest_err client_pid=$nest_pid
nest_bg icmpsnoop -N "$router" --json
router_out=$nest_out router_err=$nest_err router_pid=$nest_pid
nest_pid=$client_pid wait_ready "$client_err" 60 || exit 1
nest_pid=$router_pid wait_ready "$router_err" 60 || exit 1

# count NAMESPACE COUNTER: value since the namespace was created.
count() {
	in_ns "$1" nstat -asz "$2" | awk 'NR > 1 { print $2 }'
}
counters='IcmpInDestUnreachs IcmpInTimeExcds Icmp6InDestUnreachs Icmp6InPktTooBigs Icmp6InTimeExcds'
for counter in $counters; do
	printf '%s %s\n' "$counter" "$(count "$client" "$counter")"
done >"$room/before"
nsenter --net="/run/netns/$server" -- python3 "$live_dir/icmp-load.py" sink >"$room/sink" &
note_process "$!"
wait_for 20 grep -q ready "$room/sink" || exit 1
ok 'packets that cannot be delivered' in_ns "$client" timeout 60 python3 "$live_dir/icmp-load.py" errors
for counter in $counters; do
	printf '%s %s\n' "$counter" "$(count "$client" "$counter")"
done >"$room/after"
# Counters that nstat shows as changed, by name.
moved=$(paste -d ' ' "$room/before" "$room/after" | awk '{ print $1, $4 - $2 }')
end_bg "$client_pid"
end_bg "$router_pid"

seen="IcmpInDestUnreachs $(figures "$client_out" "len([e for e in r if ':' not in e['sender'] and e['type'] == 3])")
IcmpInTimeExcds $(figures "$client_out" "len([e for e in r if ':' not in e['sender'] and e['type'] == 11])")
Icmp6InDestUnreachs $(figures "$client_out" "len([e for e in r if ':' in e['sender'] and e['type'] == 1])")
Icmp6InPktTooBigs $(figures "$client_out" "len([e for e in r if ':' in e['sender'] and e['type'] == 2])")
Icmp6InTimeExcds $(figures "$client_out" "len([e for e in r if ':' in e['sender'] and e['type'] == 3])")"
is "$seen" "$moved" 'as many messages of each kind as the kernel counts'

# of KIND PORT EXPRESSION: the client's records of one kind and remote port.
of() {
	figures "$client_out" "[$3 for e in r if e['kind'] == '$1' and e['rport'] == $2]"
}
last() {
	figures "$client_out" "[$3 for e in r if e['kind'] == '$1' and e['rport'] == $2][-1]"
}
is "$(of port-unreachable 29001 "(e['sender'], e['laddr'], e['raddr'], e['proto'], e['comm'], e['error'])")" \
	"$(printf "('10.93.2.2', '10.93.1.1', '10.93.2.2', 'udp', 'python3', 'ECONNREFUSED'), %.0s" {1..7} |
	sed 's/^/[/; s/, $/]/')" 'connected UDP gets the port unreachable error, each time'
is "$(of port-unreachable 29002 "(e['comm'], e['error'])")" \
	"[('python3', None)]" 'unconnected UDP gets no error'
is "$(of port-unreachable 29003 "(e['sender'], e['raddr'], e['comm'], e['error'])")" \
	"[('fd93:2::2', 'fd93:2::2', 'python3', 'ECONNREFUSED')]" 'and by IPv6'
# While connect() holds the socket the error is kept as soft error, and IPv6 retries: the last message counts.
is "$(last host-unreachable 29004 "(e['sender'], e['raddr'], e['proto'], e['error'] or e['soft_error'])")" \
	"('10.93.1.2', '10.93.3.9', 'tcp', 'EHOSTUNREACH')" 'a connection that the router has no way for'
is "$(last prohibited 29005 "(e['raddr'], e['code'], e['error'] or e['soft_error'])")" \
	"('10.93.4.9', 13, 'EHOSTUNREACH')" 'one that a policy forbids'
is "$(last prohibited 29006 "(e['raddr'], e['code'], e['error'] or e['soft_error'])")" \
	"('fd93:4::9', 1, 'EACCES')" 'and by IPv6'
is "$(of ttl-exceeded 29007 "(e['sender'], e['comm'], e['error'])")" \
	"[('10.93.1.2', 'python3', 'EHOSTUNREACH')]" 'a packet with too few hops'
is "$(of ttl-exceeded 29008 "(e['sender'], e['comm'], e['error'])")" \
	"[('fd93:1::2', 'python3', 'EHOSTUNREACH')]" 'and by IPv6'
is "$(of frag-needed 29009 "(e['sender'], e['mtu'], e['proto'], e['comm'])")" \
	"[('10.93.1.2', 1300, 'tcp', 'python3')]" 'a connection whose packets are too large for the second link'
is "$(of frag-needed 29010 "(e['sender'], e['mtu'], e['proto'], e['comm'])")" \
	"[('fd93:1::2', 1300, 'tcp', 'python3')]" 'and by IPv6'
is "$(figures "$router_out" \
	"sorted((e['dir'], e['kind'], e['raddr']) for e in r if e['rport'] and e['lport'] in (29004, 29007))")" \
	"[('tx', 'host-unreachable', '10.93.1.1'), ('tx', 'ttl-exceeded', '10.93.1.1')]" 'the router sees what it sends'
is "$(figures "$router_out" "len([e for e in r if e['dir'] == 'rx'])")" 0 'and takes what it forwards for nobody'
# --- superping ---

# answers VERSION HOW: in the server, in the kernel's place; $answer_log and descriptor $go to say when.
answers() {
	answer_log=$room/answer-$1-$2
	: >"$answer_log"
	rm -f "$room/go"
	mkfifo "$room/go"
	nsenter --net="/run/netns/$server" -- \
		python3 "$live_dir/icmp-load.py" answer "$1" "$2" <"$room/go" >"$answer_log" &
	note_process "$!"
	answer_pid=$!
	exec {go}>"$room/go"
	wait_for 20 grep -q ready "$answer_log" || exit 1
}
in_ns "$server" sh -c 'echo 1 >/proc/sys/net/ipv4/icmp_echo_ignore_all; echo 1 >/proc/sys/net/ipv6/icmp/echo_ignore_all'
nest_bg superping -N "$client" --json
wait_ready "$nest_err" 60 || exit 1
# RTT reported by ping, in microseconds.
took() {
	grep -o 'time=[0-9.]* ms' "$1" | awk -F '[= ]' '{ printf "%d\n", $2 * 1000 }'
}
for version in 4 6; do
	peer=10.93.2.2
	[ "$version" = 4 ] || peer=fd93:2::2
	answers "$version" 0.04
	ok "IPv$version: answers that come late" in_ns "$client" ping -c 5 -i 0.05 -W 20 -s 79 "$peer"
	cp "$room/ok.out" "$room/ping.late$version"
	end_bg "$answer_pid" TERM
	exec {go}>&-
	# The reply arrives while the program is stopped: not a network delay.
	answers "$version" line
	nsenter --net="/run/netns/$client" -- ping -U -c 1 -W 60 -s 83 "$peer" >"$room/ping.stopped$version" &
	stopped=$!
	note_process "$stopped"
	wait_for 20 grep -q asked "$answer_log" || exit 1
	kill -STOP "$stopped"
	wait_for 20 grep -q '^State:.*stopped' "/proc/$stopped/status" || exit 1
	echo >&"$go"
	wait_for 20 grep -q answered "$answer_log" || exit 1
	sleep 0.3
	kill -CONT "$stopped"
	wait "$stopped"
	end_bg "$answer_pid" TERM
	exec {go}>&-
	in_ns "$client" ping -c 1 -W 1 -s 97 "$peer" >/dev/null
done
reported() {
	[ "$(grep -c '"bytes":105' "$nest_out")" = 2 ]
}
ok 'requests without an answer are reported' wait_for 20 reported
end_bg "$nest_pid"
# In an emulated machine ping waits long for the CPU, before the request and after the reply.
slack=10000
[ -z "${NEST_VM-}" ] || slack=2000000
for version in 4 6; do
	family="e['family'] == 'ipv$version'"
	# Microseconds. ping shows three digits, and its time begins when it makes the
	# packet, a little before it leaves.
	late="zip([e for e in r if e['bytes'] == 87 and $family], [$(took "$room/ping.late$version" | paste -sd,)])"
	is "$(figures "$nest_out" "[-100 <= ping - e['lat_ns'] / 1e3 < $slack and e['lat_ns'] > 39e6
		and e['seq'] == n + 1 and e['comm'] == 'ping' for n, (e, ping) in enumerate($late)]")" \
		'[True, True, True, True, True]' "IPv$version: as late as ping says"
	stopped=$(took "$room/ping.stopped$version")
	is "$(figures "$nest_out" "[(e['sched_ns'] > 290e6,
		-500 <= $stopped - (e['lat_ns'] + e['stack_ns'] + e['sched_ns']) / 1e3 < 2 * $slack, e['error'])
		for e in r if e['bytes'] == 91 and $family]")" \
		'[(True, True, None)]' "IPv$version: the time that the program was stopped stands apart"
	is "$(figures "$nest_out" \
		"[(e['error'], e['sched_ns'], e['lat_ns'] > 0.9e9) for e in r if e['bytes'] == 105 and $family]")" \
		"[('ETIMEDOUT', None, True)]" "IPv$version: no answer"
done
finish
