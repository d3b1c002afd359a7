#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# nest path: through a router, a bridge, a tunnel and rewritten addresses every packet has one journey.
# vm: 50
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/path-lib.sh"
require_root
require_cmd python3 iptables

port=7700
ns_make client
ns_make server
ns_make middle
ns_link "$client" 10.97.1.1/24 "$server" 10.97.1.2/24
direct=$link_dev

# A bridge, a router, a tunnel and rewritten addresses are in the middle.
ip -n "$client" link add pm type veth peer name pc netns "$middle"
ip -n "$server" link add pm type veth peer name ps netns "$middle"
for namespace in "$client" "$server" "$middle"; do
	in_ns "$namespace" sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
done
for place in "$client pm" "$server pm" "$middle pc" "$middle ps"; do
	ip -n "${place% *}" link set "${place#* }" up
done

ip -n "$middle" addr add 10.96.1.254/24 dev pc
ip -n "$middle" addr add 10.96.2.254/24 dev ps
ip -n "$client" addr add 10.96.1.1/24 dev pm
ip -n "$server" addr add 10.96.2.1/24 dev pm
ip -n "$client" route add 10.96.2.0/24 via 10.96.1.254
ip -n "$server" route add 10.96.1.0/24 via 10.96.2.254
in_ns "$middle" sysctl -qw net.ipv4.ip_forward=1
# What waits for a neighbour's address and has no data looks as if it were for the router itself.
in_ns "$client" ping -c 1 -W 5 10.96.2.1 >/dev/null || diag 'no way through the router'
port=$((port + 1))
follow --json -N "$middle" -P $port
serve "$server" "$load" echo tcp 10.96.2.1 $port
ask ask tcp 10.96.2.1 $port 100
followed 'a router'
is "$("$check" "$journeys" count "end != 'forwarded'")" 0 'a router: all is forwarded'
compare "$("$check" "$journeys" count "bytes > 100")" -eq 200 'a router: each packet is reported once'
is "$("$check" "$journeys" stages "bytes > 100" | tr ' ' '\n' | grep -vx softirq | xargs)" \
	'backlog ip driver' 'a router: in at one side, out at the other, and no queue'

# Addresses rewritten on arrival: the socket's port is reported.
port=$((port + 1))
in_ns "$server" iptables -t nat -A PREROUTING -p tcp --dport $((port + 50)) -j REDIRECT --to-ports $port
follow --json -N "$server" --rx --where "lport in ($port, $((port + 50)))"
serve "$server" "$load" echo tcp 10.97.1.2 $port
ask ask tcp 10.97.1.2 $((port + 50)) 50
followed 'rewritten addresses'
in_ns "$server" iptables -t nat -F
compare "$("$check" "$journeys" count "bytes > 100 and lport == $port and end == 'delivered' and pid")" \
	-eq 50 'rewritten addresses: read by the server'

# A bridge: to its own address, and through it.
ip -n "$middle" addr flush dev pc
ip -n "$middle" addr flush dev ps
ip -n "$middle" link add br0 type bridge
ip -n "$middle" link set pc master br0
ip -n "$middle" link set ps master br0
ip -n "$middle" link set br0 up
ip -n "$middle" addr add 10.95.0.3/24 dev br0
ip -n "$client" addr add 10.95.0.1/24 dev pm
ip -n "$server" addr add 10.95.0.2/24 dev pm
port=$((port + 1))
follow --json -N "$middle" --rx -P $port
serve "$server" "$load" echo udp 10.95.0.2 $port
ask ask udp 10.95.0.2 $port 50
end_bg "$bg_pid" KILL
serve "$middle" "$load" echo udp 10.95.0.3 $port
ask ask udp 10.95.0.3 $port 50
end_bg "$bg_pid" KILL
followed 'a bridge'
compare "$("$check" "$journeys" count "end == 'forwarded'")" -eq 100 'a bridge: what goes through is forwarded'
compare "$("$check" "$journeys" count "end == 'delivered' and dev == 'pc' and pid")" \
	-eq 50 'a bridge: what is for it is one journey from its port to the reader'

# VXLAN: one journey, outside and inside.
for end in "$client 10.97.1.1 10.97.1.2 10.94.0.1" "$server 10.97.1.2 10.97.1.1 10.94.0.2"; do
	read -r namespace local remote inner <<<"$end"
	ip -n "$namespace" link add vx type vxlan id 5 local "$local" remote "$remote" dstport 4789 dev "$direct"
	ip -n "$namespace" addr add "$inner/24" dev vx
	ip -n "$namespace" link set vx up
done
port=$((port + 1))
follow --json -N "$server" --rx -P $port
serve "$server" "$load" echo tcp 10.94.0.2 $port
ask ask tcp 10.94.0.2 $port 50
serve "$server" "$load" echo udp 10.94.0.2 $port
ask ask udp 10.94.0.2 $port 50
followed 'a tunnel'
end_bg "$bg_pid" KILL
compare "$("$check" "$journeys" count \
	"bytes > 90 and laddr == '10.94.0.2' and lport == $port and dev == '$direct' and pid")" -ge 100 \
	'a tunnel: from the interface outside to the reader inside, in one journey'
finish
