#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# nest path: connections that begin and end, sockets that end with data in them, packets without a
# socket, tunnels from both sides:
# as many journeys as the interface has counted packets, and each with the right end.
# vm: 60
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/path-lib.sh"
require_root
require_cmd python3 iptables
exact

load=$live_dir/path-account.py
port=7480
count=20
ns_make client
ns_make server
ns_link "$client" 10.97.0.1/24 "$server" 10.97.0.2/24
direct=$link_dev

# counted DEVICE rx|tx: packets of the server's interface, as the kernel has them.
counted() {
	in_ns "$server" cat /proc/net/dev |
		awk -v dev="$1:" -v at="$([ "$2" = rx ] && echo 3 || echo 11)" '$1 == dev {print $at}'
}

# quiet DEVICE: nothing but the load is on it, and neighbours are known for good.
quiet() {
	local namespace addr mac
	for namespace in "$client" "$server"; do
		in_ns "$namespace" ip -4 neigh show dev "$1" | while read -r addr _ mac _; do
			ip -n "$namespace" neigh replace "$addr" lladdr "$mac" dev "$1" nud permanent
		done
	done
}

# reported WHICH: journeys for which it holds.
reported() {
	"$check" "$journeys" count "$1"
}

# Where the kernel runs no program while its first process does, nest says for how long that was.
tell_unseen() {
	! grep -q 'while pid 1 is on the CPU' "$nest_err" || diag 'unseen: 1'
}

# The kernel lets go of what was in a socket of datagrams some time after it was closed.
are_let_go() {
	[ "$(grep -c '"end":"dropped".*"proto":"udp"' "$nest_out")" -ge $count ]
}

for namespace in "$client" "$server"; do
	in_ns "$namespace" sysctl -qw "net.ipv6.conf.$direct.disable_ipv6=1" net.ipv6.conf.default.disable_ipv6=1
done
in_ns "$client" ping -c 1 -W 5 10.97.0.2 >/dev/null || diag 'no way to the server'
quiet "$direct"

# A link for the other version of IP.
ns_link "$client" 10.98.0.1/24 "$server" 10.98.0.2/24
other=$link_dev
for end in "$client 1" "$server 2"; do
	in_ns "${end% *}" sysctl -qw "net.ipv6.conf.$other.disable_ipv6=0"
	ip -n "${end% *}" -6 addr add "fd98::${end#* }/64" dev "$other" nodad
done

# --- connections, and sockets that end -------------------------------------------------------------------------------

in_ns "$server" iptables -A OUTPUT -p udp --dport 7999 -j DROP
follow --json -N "$server"
rx=$(counted "$direct" rx) tx=$(counted "$direct" tx)
serve "$server" "$load" serve 10.97.0.2 $port
ask ask 10.97.0.2 $port $count
ask knock 10.97.0.2 9 $count
ask knock fd98::2 9 $count
ask tagged "$direct" $count
for _ in 1 2 3; do
	in_ns "$server" bash -c 'echo x >/dev/udp/10.97.0.1/7999' 2>/dev/null
done
rx=$(($(counted "$direct" rx) - rx)) tx=$(($(counted "$direct" tx) - tx))
wait_for 20 are_let_go || diag 'datagrams that nobody read are not let go'
followed 'connections'
tell_unseen
end_bg "$server_pid" KILL
in_ns "$server" iptables -F
is "$(reported "dev == '$direct' and dir == 'rx'")" "$rx" 'every packet that the interface has received is reported'
is "$(reported "dev == '$direct' and dir == 'tx' and rport != 7999")" \
	"$tx" 'also every packet that it has sent: answers to requests, resets'
is "$(reported "end == 'unfinished'")" 0 'and has come to an end'
is "$(reported "end == 'dropped' and proto == 'tcp' and reason and lport == $port")" \
	$count 'data that nobody read before its socket ended is dropped'
is "$(reported "end == 'dropped' and proto == 'udp' and lport == $((port + 1))")" $count 'and so are datagrams'
is "$(reported "dir == 'tx' and lport == $port and end != 'delivered'")" \
	0 'what was acknowledged while the connection ended is delivered'
is "$(reported "end == 'dropped' and proto == 'tcp' and bytes <= 60 and lport == $port")" \
	0 'the end of a connection is no drop'
is "$(reported "dir == 'tx' and rport == 7999 and end == 'dropped' and reason")" \
	3 'a drop on transmit is reported, with the reason'
is "$(reported "dev == '$other' and dir == 'tx' and lport == 9 and family == 'ipv6'")" $count 'resets of IPv6'
is "$(reported "dev == '$direct' and rport == 7777")" $count 'packets with the tag of a VLAN in them'

# --- a tunnel --------------------------------------------------------------------------------------------------------

for end in "$client 10.97.0.1 10.97.0.2 10.94.0.1" "$server 10.97.0.2 10.97.0.1 10.94.0.2"; do
	read -r namespace local remote inner <<<"$end"
	ip -n "$namespace" link add vx type vxlan id 5 local "$local" remote "$remote" dstport 4789 dev "$direct"
	ip -n "$namespace" addr add "$inner/24" dev vx
	ip -n "$namespace" link set vx up
done
in_ns "$client" ping -c 1 -W 5 10.94.0.2 >/dev/null || diag 'no way through the tunnel'
quiet vx
port=$((port + 2))
follow --json -N "$server" -i vx
rx=$(counted vx rx) tx=$(counted vx tx)
serve "$server" "$load" serve 10.94.0.2 $port
ask ask 10.94.0.2 $port $count
rx=$(($(counted vx rx) - rx)) tx=$(($(counted vx tx) - tx))
wait_for 20 are_let_go || diag 'datagrams that nobody read are not let go'
followed 'a tunnel'
tell_unseen
end_bg "$server_pid" KILL
is "$(reported "dir == 'rx' and laddr == '10.94.0.2'")" "$rx" 'a tunnel: what comes out of it, by its own name'
is "$(reported "dir == 'tx' and laddr == '10.94.0.2'")" "$tx" 'a tunnel: what goes into it'
is "$(reported "end == 'unfinished' or (dir == 'tx' and end == 'dropped')")" \
	0 'a tunnel: all of it has come to an end, once'
finish
