#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# nest path: whichever way data is read, its journey ends with the reader; and at full speed no packet is forgotten.
# vm: 30
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/path-lib.sh"
require_root
require_cmd python3 ethtool tc

readers=$live_dir/path-readers.py
port=7500
ns_make client
ns_make server
ns_link "$client" 10.99.0.1/24 "$server" 10.99.0.2/24
for namespace in "$client" "$server"; do
	in_ns "$namespace" sysctl -qw "net.ipv6.conf.$link_dev.disable_ipv6=1"
done
in_ns "$client" ping -c 1 -W 5 10.99.0.2 >/dev/null || diag 'no way to the server'

# of WHAT: that number of the closing line; 0 when it is not there.
of() {
	sed -n "s/.*[ ;:]\([0-9]*\) $1.*/\1/p" <<<"$account" | grep . || echo 0
}

# counted: packets of the server's interface, both ways.
counted() {
	in_ns "$server" cat /proc/net/dev | awk -v dev="$link_dev:" '$1 == dev {print $3 + $11}'
}

# --- ways to read ----------------------------------------------------------------------------------------------------

# [least=N] reads HOW tcp|udp NAME [OPTION ...]: sixty messages, of which N are reported as read, by default all
reads() {
	port=$((port + 1))
	follow --rx "${@:4}" --json -N "$server" --where "lport == $port and bytes > 90"
	serve "$server" "$readers" "$1" 10.99.0.2 $port
	in_ns "$client" timeout 50 "$load" ask "$2" 10.99.0.2 $port 60 64 || diag "$3: no answers"
	end_bg "$server_pid" KILL
	followed
	compare "$("$check" "$journeys" count "end == 'delivered'")" \
		-ge "${least-60}" "$3: every message came to its reader"
	compare "$("$check" "$journeys" count "end == 'delivered'")" -le 60 "$3: and but once"
	is "$("$check" "$journeys" sums)" good "$3: stages add up"
}
reads recvmmsg udp 'several datagrams with one call'
compare "$("$check" "$journeys" count "pid == $server_pid")" -eq 60 'several datagrams with one call: whose they are'
reads several udp 'several readers'
compare "$("$check" "$journeys" count "pid == $server_pid and tid")" \
	-eq 60 'several readers: each journey has its thread'
# These have the data before the CPU on which it came is through with it. One whose announcement was missed
# (others attach programs to the same hooks) is finished by the next, and the last has none.
least=57 reads spin tcp 'a reader that never waits'
compare "$("$check" "$journeys" count "pid == $server_pid")" -ge 57 'a reader that never waits: whose they are'
least=57 reads spin_udp udp 'a reader of datagrams that never waits'
compare "$("$check" "$journeys" count "pid == $server_pid")" \
	-ge 57 'a reader of datagrams that never waits: whose they are'
reads uring tcp 'io_uring'
compare "$("$check" "$journeys" count "pid == $server_pid")" -eq 60 'io_uring: whose they are'
reads splice tcp 'spliced into a pipe' --return
compare "$("$check" "$journeys" count "pid == $server_pid")" -eq 60 'spliced into a pipe: whose they are'

# --- full speed ------------------------------------------------------------------------------------------------------

# Packets of the size of the link, as many as both ends can make.
port=$((port + 1))
in_ns "$client" ethtool -K "$link_dev" tso off gso off >/dev/null
before=$(counted)
follow --hist -N "$server" -i "$link_dev"
serve "$server" "$readers" bulk 10.99.0.2 $port
in_ns "$client" timeout 50 "$readers" send 10.99.0.2 $port 1 65536 || diag 'the transfer failed'
wait "$server_pid"
followed
packets=$(of 'packets followed') lost=$(of lost) unfinished=$(of unfinished)
counted=$(($(counted) - before))
in_ns "$client" ethtool -K "$link_dev" tso on gso on >/dev/null
diag "$account"
compare "$packets" -ge 2000 'full speed: there were many'
# Neighbours may be asked again meanwhile; missed events count as lost. While other tests attach programs to
# the same hooks or take them away, the kernel passes some packets over for about a millisecond: those nobody sees.
compare "$packets" -le "$counted" 'full speed: no packet is reported twice'
compare $((packets + lost)) -ge $((counted * 98 / 100 - 1000)) \
	'full speed: every packet of the interface is accounted for'
is $(($(of delivered) + $(of dropped) + unfinished)) \
	"$packets" 'full speed: delivered, dropped and unfinished are all of them'
# How many are merged at moments that no hook sees depends on the machine: 0.5 to 7 % were seen.
compare $((unfinished * 100)) -le $((packets * 15 + lost * 200)) 'full speed: few were lost sight of'

# A shaper cuts large packets up: each is found again by its last piece.
port=$((port + 1))
in_ns "$client" tc qdisc add dev "$link_dev" root tbf rate 200mbit burst 20000 limit 3000000
follow --tx --json -N "$client" --where "rport == $port and bytes > 3000"
serve "$server" "$readers" bulk 10.99.0.2 $port
in_ns "$client" timeout 50 "$readers" send 10.99.0.2 $port 1 65536 || diag 'the transfer failed'
wait "$server_pid"
followed
in_ns "$client" tc qdisc del dev "$link_dev" root
all=$("$check" "$journeys" count "end == 'delivered'")
compare "$all" -ge 20 'cut up by a shaper: large packets were sent'
known=$("$check" "$journeys" count "end == 'delivered' and any(s['stage'] == 'qdisc' for s in stages)")
compare $((known * 100)) -ge $((all * 95)) \
	'cut up by a shaper: their time in the queue is known'
finish
