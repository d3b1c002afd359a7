#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Delays that are put into one place of the stack on purpose: nest path finds them there, in at least 95 of a hundred
# journeys, give or take a fifth.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/path-lib.sh"
require_root
require_cmd python3 ethtool tc iptables chrt taskset

port=7300
ns_make client
ns_make server
ns_link "$client" 10.98.0.1/24 "$server" 10.98.0.2/24

# The timing of servers must hold on a busy host: they run before all else.
# shellcheck disable=SC2034 # for serve and ask
urgent=(chrt -f 20)

# The reader sleeps before it reads: the data waits for the application.
port=$((port + 1))
follow --json --rx -N "$server" -P $port
serve "$server" "$load" echo tcp 10.98.0.2 $port sleep 0.03
ask ask tcp 10.98.0.2 $port 50
followed
in_stage socket 0.03 "bytes > 100 and lport == $port and n > 8" 'a reader that sleeps: socket'

# The same after an event loop has reported it.
port=$((port + 1))
follow --json --rx -N "$server" -P $port
serve "$server" "$load" echo tcp 10.98.0.2 $port epoll 0.03
ask ask tcp 10.98.0.2 $port 50
followed
in_stage socket 0.03 "bytes > 100 and lport == $port and n > 8" 'a reader that works between epoll and read: socket'

# The reader shares its CPU with two that never rest.
port=$((port + 1))
follow --json --rx -N "$server" -P $port
behind_hogs 10.98.0.2 $port 150
followed
# Now and then it need not wait; what is slow is slow for that reason.
share=$("$check" "$journeys" part sched 80 "bytes > 100 and lport == $port and total_ns > 1e6")
compare "${share/none/0}" -ge 95 'a reader behind others on its CPU: sched' ||
	diag "$("$check" "$journeys" times sched "bytes > 100")"
compare "$("$check" "$journeys" count "any(s['stage'] == 'sched' and (s['note'] or 0) >= 2 for s in stages)")" -ge 50 \
	'and how many could run is reported'
# hold NAMESPACE CHAIN: a filter holds packets to $port there; let_go ends it.
hold() {
	: >"$room/queue"
	bg nsenter --net="/run/netns/$1" -- chrt -f 30 "$load" hold 7 0.03 >"$room/queue"
	queue_pid=$bg_pid
	wait_for 20 grep -q up "$room/queue" || diag 'no queue'
	in_ns "$1" iptables -A "$2" -p tcp --dport $port -j NFQUEUE --queue-num 7
}
let_go() {
	in_ns "$1" iptables -F
	end_bg "$queue_pid" KILL
}

# A filter holds packets that arrive.
port=$((port + 1))
follow --json --rx -N "$server" -P $port
hold "$server" INPUT
serve "$server" "$load" echo tcp 10.98.0.2 $port
ask ask tcp 10.98.0.2 $port 40
followed
let_go "$server"
in_stage filter 0.03 "bytes > 100 and lport == $port" 'a queue of the packet filter: filter' "$room/queue"
compare "$("$check" "$journeys" count \
	"seq == end_seq and any(s['stage'] == 'filter' and s['ns'] > 2e7 for s in stages)")" -ge 1 \
	'a queue of the packet filter: what has no data is held, too'

# And those that leave.
port=$((port + 1))
follow --json --tx -N "$client" -P $port
hold "$client" OUTPUT
serve "$server" "$load" echo tcp 10.98.0.2 $port
ask ask tcp 10.98.0.2 $port 40
followed
let_go "$client"
in_stage filter 0.03 "bytes > 100 and rport == $port" \
	'NFQUEUE on transmit: filter' "$room/queue"

# Interrupts are put off.
port=$((port + 1))
in_ns "$client" ethtool -K "$link_dev" tso off >/dev/null
in_ns "$server" ethtool -K "$link_dev" gro on >/dev/null
ip netns exec "$server" sh -c "echo 50000000 >/sys/class/net/$link_dev/gro_flush_timeout &&
	echo 1000000 >/sys/class/net/$link_dev/napi_defer_hard_irqs" || diag 'cannot put interrupts off'
follow --json --rx -N "$server" -P $port
serve "$server" "$load" echo udp 10.98.0.2 $port
ask ask udp 10.98.0.2 $port 40
followed
in_stage softirq 0.05 "bytes > 90 and lport == $port and n > 1" 'interrupts put off: softirq'
ip netns exec "$server" sh -c "echo 0 >/sys/class/net/$link_dev/gro_flush_timeout
	echo 0 >/sys/class/net/$link_dev/napi_defer_hard_irqs"
in_ns "$server" ethtool -K "$link_dev" gro off >/dev/null

# The peer's window is small, and it is late to read: the end of every message waits in TCP.
port=$((port + 1))
follow --json --tx -N "$client" -P $port
serve "$server" "$load" late 10.98.0.2 $port 16384 0.03 4096
ask push 10.98.0.2 $port 16384 30
followed
first=$("$check" "$journeys" first)
in_stage tcp 0.03 "seq != end_seq and (end_seq - $first) % 16384 == 0" "the peer's window: tcp" "$room/server"
compare "$("$check" "$journeys" count "any(s['stage'] == 'tcp' and s['note'] == 3 for s in stages)")" -ge 20 \
	'and that it was the window'

# The send buffer is small: the end of every message waits in the system call.
port=$((port + 1))
follow --json --tx -N "$client" -P $port
serve "$server" "$load" late 10.98.0.2 $port 200000 0.03 40000
ask push 10.98.0.2 $port 200000 30 20000
followed
first=$("$check" "$journeys" first)
in_stage sndbuf 0.03 "seq != end_seq and (end_seq - $first) % 200000 == 0" 'a small send buffer: sndbuf' "$room/server"
is "$("$check" "$journeys" count "end == 'unfinished'")" \
	0 'a small send buffer: one acknowledgement ends several journeys, and no more'

# A small segment waits for the acknowledgement of another, which the peer puts off.
port=$((port + 1))
follow --json --tx -N "$client" -P $port
serve "$server" "$load" slow 10.98.0.2 $port 0.03
ask pair 10.98.0.2 $port 40
followed
first=$("$check" "$journeys" first)
in_stage tcp 0.03 "seq != end_seq and (end_seq - $first) % 2 == 0 and n > 10" "Nagle's rule: tcp" "$room/server"
compare "$("$check" "$journeys" count "any(s['stage'] == 'tcp' and s['note'] == 5 for s in stages)")" -ge 25 \
	"and that it was Nagle's"

# A shaper: the second of two datagrams waits for 25 ms at 400 kbit/s.
port=$((port + 1))
in_ns "$client" tc qdisc add dev "$link_dev" root tbf rate 400kbit burst 1260 limit 100000
serve "$server" "$load" sink 10.98.0.2 $port
follow --json --tx -N "$client" -P $port
ask burst 10.98.0.2 $port 1208,1207 0.07 30
followed
in_ns "$client" tc qdisc del dev "$link_dev" root
in_stage qdisc 0.025 "proto == 'udp' and bytes == 1235" 'a shaper: qdisc'
# Its hook is attached when the first packet goes into a queue: the first ones do not show it separately.
is "$("$check" "$journeys" stages "proto == 'udp' and bytes == 1235 and n >= 20")" \
	'qdisc driver' 'a shaper: the driver after it'
finish
