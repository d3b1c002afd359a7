#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Tools for qdiscs and drops, against the counters of tc and the firewall.
# vm: 30
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3 nft tc ping
require_event qdisc.wait
exact

ns_make client
ns_make server
ns_link "$client" 10.89.0.1/24 "$server" 10.89.0.2/24
ns_quiet "$client" "$link_dev" 10.89.0.2 "$server"
ns_quiet "$server" "$link_dev" 10.89.0.1 "$client"
in_ns "$client" ping -c 1 -W 5 -q 10.89.0.2 >/dev/null || { diag 'the link does not work'; exit 1; }
# A handle that no other qdisc of the host is likely to have.
handle=$(printf %x $((0x1000 + $$ % 0x7000)))
# rate RATE: sets the rate of the link's qdisc.
rate() {
	in_ns "$client" tc qdisc replace dev \
		"$link_dev" root handle "$handle": tbf rate "$1" burst 5000 limit 3000000 || exit 1
}
# So slow that even an emulated machine sends faster than the qdisc.
rate 2mbit
in_ns "$server" nft -f - <<-END
	table inet lossy {
		counter dropped { }
		chain in {
			type filter hook prerouting priority -300;
			udp dport 27001 counter name dropped drop
		}
	}
END

nest_bg trace qdisc.wait -N "$client" --json
wait_out=$nest_out wait_err=$nest_err wait_pid=$nest_pid
nest_bg qdisc-tbf -N "$client" --json
hist_out=$nest_out hist_err=$nest_err hist_pid=$nest_pid
nest_bg qdisc-fq -N "$client" --json
fq_out=$nest_out fq_err=$nest_err fq_pid=$nest_pid
nest_bg skbdrop -N "$server" --json
drop_out=$nest_out drop_err=$nest_err drop_pid=$nest_pid
nest_pid=$wait_pid wait_ready "$wait_err" 60 || exit 1
nest_pid=$hist_pid wait_ready "$hist_err" 60 || exit 1
nest_pid=$fq_pid wait_ready "$fq_err" 60 || exit 1
nest_pid=$drop_pid wait_ready "$drop_err" 60 || exit 1

unseen_begin net/net_dev_queue "name == \"$link_dev\"" qdisc/qdisc_dequeue "handle == 0x${handle}0000"
# packets: bytes and packets that the link's qdisc has sent.
packets() {
	in_ns "$client" tc -s -j qdisc show dev "$link_dev" |
		from_json '"{bytes} {packets}".format(**[q for q in j if q["kind"] == "tbf"][0])'
}
# has_let_go COUNT: whether COUNT packets were sent since the start.
has_let_go() {
	local packets_now
	read -r _ packets_now < <(packets)
	[ $((packets_now - packets_before)) -ge "$1" ]
}
read -r bytes_before packets_before < <(packets)
# 37 datagrams of 1000 bytes at once queue behind each other: the last one waits for the transmission of all beyond the
# burst, less the time that it took to send them.
took=$(in_ns "$client" python3 -c '
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(("10.89.0.2", 27001))
begin = time.monotonic()
for _ in range(37):
    s.send(b"x" * 1000)
print(time.monotonic() - begin)
')
wait_for 20 has_let_go 37
# The qdisc segments large TCP writes. Small writes for a low rate.
rate 20mbit
sink "$server" 10.89.0.2 27002
in_ns "$client" python3 -c '
import socket
s = socket.create_connection(("10.89.0.2", 27002))
s.sendall(b"x" * 300000)
s.shutdown(socket.SHUT_WR)
s.recv(1)
'
wait "$sink_pid"
read -r bytes_after packets_after < <(packets)
for pid in "$wait_pid" "$hist_pid" "$fq_pid" "$drop_pid"; do
	end_bg "$pid"
done

tcp='[e for e in r if e["proto"] == "tcp"]'
udp='[e for e in r if e["rport"] == 27001]'
# tc counts a GSO packet as its segments, each with 66 bytes of headers.
is "$(figures "$wait_out" 'sum(e["segs"] for e in r)')" \
	"$((packets_after - packets_before))" 'as many packets as tc counts'
is "$(figures "$wait_out" 'sum(e["bytes"] + (e["segs"] - 1) * 66 for e in r)')" \
	"$((bytes_after - bytes_before))" 'as many bytes as tc counts'
is "$(figures "$wait_out" '{(e["kind"], e["dev"]) for e in r}')" "{('tbf', '$link_dev')}" 'kind and interface'
is "$(figures "$wait_out" "len($udp), {e['bytes'] for e in $udp}, {e['comm'] for e in $udp}")" \
	"(37, {1042}, {'python3'})" 'every datagram, its size and whose it is'
needed='(37 * 1042 - 5000) * 8 / 2e6'
waited=$(figures "$wait_out" "${udp}[-1]['lat_ns'] / 1e9")
diag "the queue needs $(figures /dev/null "round($needed, 3)") s, sending took $took s, the last waited $waited s"
is "$(figures "$wait_out" "$took < $needed / 2")" True 'they were sent faster than the queue lets them go'
is "$(figures "$wait_out" "0.9 * ($needed - $took) < ${udp}[-1]['lat_ns'] / 1e9 < $needed + 0.5")" \
	True 'the last datagram waits as long as the rate says'
is "$(figures "$wait_out" "len([e for e in $tcp if e['split']]) > 50")" True 'large packets are cut up by the queue'
is "$(figures "$wait_out" "len([e for e in $tcp if e['lat_ns'] is None])")" 0 'the wait of every piece is known'
is "$(figures "$hist_out" 'sum(b["count"] for e in r for b in e["hist"])')" \
	"$(wc -l <"$wait_out")" 'qdisc-tbf: as many in the histogram'
is "$(wc -l <"$fq_out")" 0 'qdisc-fq: another kind is not shown'

dropped=$(in_ns "$server" nft -j list counter inet lossy dropped | grep -o '"packets": [0-9]*' | grep -o '[0-9]*')
is "$dropped" 37 'the firewall has dropped them all'
is "$(figures "$drop_out" 'len([e for e in r if e["reason"] == "NETFILTER_DROP" and e["lport"] == 27001])')" \
	"$dropped" 'skbdrop: as many as the firewall counts'
is "$(figures "$drop_out" \
	'{(e["dir"], e["raddr"], e["laddr"], e["proto"], e["dev"]) for e in r if e["lport"] == 27001}')" \
	"{('rx', '10.89.0.1', '10.89.0.2', 'udp', '$link_dev')}" 'skbdrop: which way, from whom, by which interface'
for err in "$wait_err" "$hist_err" "$fq_err" "$drop_err"; do
	like "$(tail -1 "$err")" ', 0 lost|missed while their BPF program was running$' 'nothing was lost for sure'
done
finish
