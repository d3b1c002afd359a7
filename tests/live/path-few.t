#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# nest path with few hooks: every packet of the flows that are followed, and known delays in the stages that are left.
# vm: 60
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/path-lib.sh"
require_root
require_cmd python3 tc chrt taskset nft

port=7600
ns_make client
ns_make server
ns_link "$client" 10.92.0.1/24 "$server" 10.92.0.2/24
# shellcheck disable=SC2034 # for serve and ask
urgent=(chrt -f 20)

# --- which packets ---------------------------------------------------------------------------------------------------

# One flow in two, and then all packets of it, in both directions.
port=$((port + 1))
follow --json -N "$server" --sample 1/2 -P $port --where 'bytes > 100'
for _ in $(seq 12); do
	serve "$server" "$load" echo tcp 10.92.0.2 $port
	ask ask tcp 10.92.0.2 $port 5
	wait "$server_pid"
done
followed 'one flow in two'
flows=$("$check" "$journeys" flows)
compare "${flows% *}" -ge 1 'one flow in two: some are followed'
compare "${flows% *}" -le 11 'one flow in two: not all'
is "${flows#* }" 10 'one flow in two: all packets of those'
is "$("$check" "$journeys" \
	count "end != 'delivered' or not pid or comm != 'path-load.py' and not comm.startswith('python')")" 0 \
	'one flow in two: all have come to an end, and whose they are is known'
like "$(cat "$nest_err")" 'not visible: ip, sndbuf, tcp: .*--stages some' 'one flow in two: what is left out is said'

# Data, acknowledgements, handshakes: as many as the interface has counted, but for those
# before the connection is there.
port=$((port + 1))
follow --json -N "$server" --stages some -P $port
serve "$server" "$load" echo tcp 10.92.0.2 $port
ask ask tcp 10.92.0.2 $port 100
wait "$server_pid"
followed 'some hooks'
compare "$("$check" "$journeys" count "dir == 'rx' and bytes > 100")" -eq 100 'some hooks: all requests'
compare "$("$check" "$journeys" count "dir == 'tx' and bytes > 100")" -eq 100 'some hooks: all answers'
compare "$("$check" "$journeys" count "dev != '$link_dev'")" -eq 0 'some hooks: the interface is known'
stages=$("$check" "$journeys" stages "dir == 'rx' and bytes > 100 and n > 20" |
	tr ' ' '\n' | grep -x -e ip -e transport | xargs)
is "$stages" 'ip transport' 'some hooks: from the arrival to the socket'
expected='sndbuf tcp qdisc ack' sees_writes=yes
if grep -q 'not visible: [^:]*\bsndbuf\b.*tcp_sendmsg_locked' "$nest_err"; then
	expected='qdisc ack' sees_writes=
fi
is "$("$check" "$journeys" stages "dir == 'tx' and bytes > 100")" \
	"$expected" 'some hooks: from the writer to the acknowledgement'
unlike "$(cat "$nest_err")" 'not visible: [^:]*\bip\b' 'some hooks: what is seen is not said to be hidden'

# Datagrams that arrive, unless only TCP is asked for.
port=$((port + 1))
follow --json -N "$server" --stages few -P $port
serve "$server" "$load" echo udp 10.92.0.2 $port
ask ask udp 10.92.0.2 $port 50
followed 'datagrams'
end_bg "$server_pid" KILL
compare "$("$check" "$journeys" count \
	"dir == 'rx' and proto == 'udp' and end == 'delivered' and pid == $server_pid")" -eq 50 \
	'datagrams: each came to its reader'

# What a filter drops, in both directions: as many as it has counted.
port=$((port + 1))
in_ns "$server" nft -f - <<-RULES
	table ip thrown {
		counter in {}
		counter out {}
		chain input {
			type filter hook input priority 0
			tcp dport $port meta length > 100 numgen inc mod 10 == 3 counter name in drop
		}
		chain output {
			type filter hook output priority 0
			tcp sport $port meta length > 100 numgen inc mod 10 == 5 counter name out drop
		}
	}
RULES
follow --json -N "$server" --stages few -P $port
serve "$server" "$load" echo tcp 10.92.0.2 $port
ask ask tcp 10.92.0.2 $port 25
wait "$server_pid"
followed 'a filter that drops'
thrown=$(in_ns "$server" nft list counters | awk '/counter/ {name = $2} /packets/ {print name, $2}' | sort | xargs)
reported=$(for dir in rx tx; do
	"$check" "$journeys" count "dir == '$dir' and end == 'dropped' and reason == 'NETFILTER_DROP'"
done | xargs)
is "in ${reported% *} out ${reported#* }" "$thrown" 'a filter that drops: each of them, with the reason'
compare "${reported% *}" -ge 2 'a filter that drops: some on receive'
compare "${reported#* }" -ge 2 'a filter that drops: some on transmit'
is "$("$check" "$journeys" count "end not in ('delivered', 'dropped') or end == 'dropped' and not reason")" \
	0 'a filter that drops: nothing is left open'
in_ns "$server" nft delete table ip thrown

# --- where the time goes ---------------------------------------------------------------------------------------------

# The reader sleeps before it reads.
port=$((port + 1))
follow --json --rx --stages few -N "$server" -P $port
serve "$server" "$load" echo tcp 10.92.0.2 $port sleep 0.02
ask ask tcp 10.92.0.2 $port 40
followed
in_stage socket 0.02 "bytes > 100 and n > 8" 'a reader that sleeps: socket'

# The reader shares its CPU with two that never rest.
if [ "$last_cpu" -eq 0 ]; then
	skip 'a reader behind others on its CPU: sched' 'the client also needs the only CPU'
else
	port=$((port + 1))
	follow --json --rx --stages few -N "$server" -P $port
	behind_hogs 10.92.0.2 $port 100
	followed
	share=$("$check" "$journeys" part sched 80 "bytes > 100 and total_ns > 1e5 and n > 2")
	compare "${share/none/0}" -ge 95 'a reader behind others on its CPU: sched' ||
		diag "$("$check" "$journeys" times sched "bytes > 100")"
fi

# When a write begins and finds room is seen since Linux 6.16.
if [ "$sees_writes" ]; then
	# Nagle's rule: the second byte waits for what the peer puts off.
	port=$((port + 1))
	follow --json --tx --stages some -N "$client" -P $port
	serve "$server" "$load" slow 10.92.0.2 $port 0.03
	ask pair 10.92.0.2 $port 30
	followed
	first=$("$check" "$journeys" first)
	in_stage tcp 0.03 "seq != end_seq and (end_seq - $first) % 2 == 0 and n > 10" "Nagle's rule: tcp" "$room/server"
	compare "$("$check" "$journeys" count "any(s['stage'] == 'tcp' and s['note'] == 5 for s in stages)")" \
		-ge 15 "and that it was Nagle's"

	# A small send buffer: the end of every message waits in the system call.
	port=$((port + 1))
	follow --json --tx --stages some -N "$client" -P $port
	serve "$server" "$load" late 10.92.0.2 $port 200000 0.03 40000
	ask push 10.92.0.2 $port 200000 25 20000
	followed
	first=$("$check" "$journeys" first)
	in_stage sndbuf 0.03 "seq != end_seq and (end_seq - $first) % 200000 == 0" \
		'a small send buffer: sndbuf' "$room/server"
else
	skip "Nagle's rule, a small send buffer" 'this kernel does not tell of writes'
fi

# A shaper: the second half of each message waits in the queue.
port=$((port + 1))
in_ns "$client" tc qdisc add dev "$link_dev" root tbf rate 800kbit burst 1600 limit 100000
follow --json --tx --stages few -N "$client" -P $port
serve "$server" "$load" late 10.92.0.2 $port 2400 0
ask push 10.92.0.2 $port 2400 30
followed
in_ns "$client" tc qdisc del dev "$link_dev" root
is "$("$check" "$journeys" sums)" good 'a shaper: stages add up'
compare "$("$check" "$journeys" count "any(s['stage'] == 'qdisc' and s['ns'] > 5e6 for s in stages)")" \
	-ge 20 'a shaper: qdisc'
finish
