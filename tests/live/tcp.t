#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The TCP tools beside a capture of the same traffic: the same packets, connections, retransmissions, resets, windows.
# vm: 57
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3 tcpdump tshark nft ethtool
exact

load=$live_dir/tcp-load.py
base=25000
ns_make client
ns_make server
ns_link "$client" 10.88.0.1/24 "$server" 10.88.0.2/24
ip -n "$client" addr add fd88::1/64 dev "$link_dev" nodad
ip -n "$server" addr add fd88::2/64 dev "$link_dev" nodad
# Packets are compared one by one: the host must not put them together.
for ns in "$client" "$server"; do
	in_ns "$ns" ethtool -K "$link_dev" tso off gso off gro off >/dev/null
done
# What is lost: some of the bulk, a first SYN, a first SYN/ACK, a last segment once (977 bytes of
# payload) or three times (983).
in_ns "$server" nft -f - <<-END
	table inet lossy {
		counter dropped { }
		chain in {
			type filter hook prerouting priority -300;
			tcp dport $((base + 1)) meta length > 200 numgen inc mod 41 == 17 counter name dropped drop
			tcp dport $((base + 7)) tcp flags == syn numgen inc mod 2 == 0 counter name dropped drop
			tcp dport $((base + 9)) meta length 1029 numgen inc mod 2 == 0 counter name dropped drop
			tcp dport $((base + 10)) meta length 1035 numgen inc mod 4 < 3 counter name dropped drop
		}
		chain out {
			type filter hook output priority 0;
			tcp sport $((base + 8)) tcp flags == syn | ack numgen inc mod 2 == 0 drop
		}
	}
END

nsenter --net="/run/netns/$server" -- python3 "$load" serve 10.88.0.2 fd88::2 >"$room/server.out" 2>"$room/server.err" &
server_pid=$!
note_process "$server_pid"
wait_for 60 grep -q ready "$room/server.out" || { diag "$(cat "$room/server.err")"; exit 1; }

nsenter --net="/run/netns/$client" -- \
	tcpdump -i "$link_dev" -s 128 -U --immediate-mode -w "$room/wire.pcap" tcp >/dev/null 2>"$room/tcpdump.err" &
capture=$!
note_process "$capture"
wait_for 60 grep -q "listening on" "$room/tcpdump.err" || exit 1

# watch FILE NAMESPACE ARGUMENT ...: a tool in the background, its output in $room/FILE
watched=()
watch() {
	local file=$1 ns=$2
	shift 2
	nest_bg "$@" -N "$ns"
	ln -s "$nest_out" "$room/$file"
	watched+=("$nest_pid $nest_err")
}
watch snoop.json "$client" tcpsnoop --json
watch life.json "$client" tcplife --json
watch life-server.json "$server" tcplife --json
watch retrans.json "$client" tcpretrans --json
watch retrans-server.json "$server" tcpretrans --json
watch reset.json "$client" tcpreset --json
watch reset-server.json "$server" tcpreset --json
watch zero.json "$client" trace tcp.probe --where 'peer_wnd == 0' --count --by lport,rport --json
watch rtt.json "$client" tcprtt -e --json
watch segments.json "$client" trace tcp.probe --count --by lport --json
watch win.json "$client" tcpwin --json
watch cong.json "$client" tcpcong --json
watch states.json "$client" tcpstates --json
watch connlat.json "$client" tcpconnlat --json
watch connect.json "$client" tcpconnect --json
watch tracer.json "$client" tcptracer --json
watch accept.json "$server" tcpaccept --json
watch synbl.json "$server" trace tcp.backlog --json
watch hold.json "$client" trace tcp.hold --json
watch nagle.json "$client" tcpnagle --json
watch pacing.json "$client" tcppacing --json
watch pktlat.json "$server" tcppktlat --json
watch drop.json "$server" tcpdrop --json
watch top.json "$client" tcptop -d 60 -r 1000 --json
watch subnet.json "$client" tcpsubnet -s 10.88.0.0/24,fd88::/64 -d 60 --json
watch who.dot "$client" tcplife --dot
watch windows.svg "$client" tcpwin --plot
for one in "${watched[@]}"; do
	nest_pid=${one%% *} wait_ready "${one#* }" 90 || exit 1
done

ours="(sport > $base && sport < $((base + 20))) || (dport > $base && dport < $((base + 20)))"
unseen_begin net/net_dev_queue "name == \"$link_dev\"" net/netif_receive_skb "name == \"$link_dev\"" \
	sock/inet_sock_set_state "$ours" tcp/tcp_retransmit_skb \
	"$ours" tcp/tcp_retransmit_synack "$ours" tcp/tcp_probe "$ours"
# short_of_memory: packets that the server's kernel dropped because it had no memory for them, by its own counters.
short_of_memory() {
	in_ns "$server" awk '/^TcpExt:/ && !n { n = split($0, name) ; next }
		/^TcpExt:/ { for (i = 2; i <= n; i++) if (name[i] ~ /^TCP(RcvQ|OFO)Drop$/) sum += $i }
		END { print sum + 0 }' /proc/net/netstat
}
short_before=$(short_of_memory)
before=$(in_ns "$client" awk '/^Tcp: [0-9]/ { print $13 }' /proc/net/snmp)
in_ns "$client" python3 "$load" ask 10.88.0.2 fd88::2 >"$room/done.json" 2>"$room/ask.err" ||
	diag "$(cat "$room/ask.err")"
after=$(in_ns "$client" awk '/^Tcp: [0-9]/ { print $13 }' /proc/net/snmp)
# The last acknowledgements are on their way; what the sockets still have to say comes with their end.
# A socket whose peer never accepts stays in FIN-WAIT-2; the connection is over for this end.
all_closed() {
	[ "$(in_ns "$client" ss -Htan | grep -Ecv 'TIME-WAIT|FIN-WAIT-2')" -eq 0 ]
}
ok 'all connections of the client have ended' wait_for 20 all_closed
for one in "${watched[@]}"; do
	end_bg "${one%% *}"
done
lost=0
for one in "${watched[@]}"; do
	# A program that came while it was running may have missed something, or nothing: what follows would show it.
	grep -Eq ', 0 lost|lost; [0-9]+ at most, missed while their BPF program was running$' "${one#* }" ||
		{ lost=$((lost + 1)); diag "$(tail -1 "${one#* }")"; }
done
is "$lost" 0 'no event was lost for sure'
end_bg "$capture" TERM
tshark -r "$room/wire.pcap" -T fields \
	-E separator=, -o tcp.relative_sequence_numbers:FALSE -o tcp.desegment_tcp_streams:FALSE \
	-e frame.time_epoch -e ip.src -e ipv6.src -e tcp.srcport -e tcp.dstport -e tcp.flags -e tcp.seq -e tcp.ack \
	-e tcp.len -e tcp.window_size >"$room/wire.csv" 2>/dev/null
compare "$(wc -l <"$room/wire.csv")" -gt 1000 'the capture has packets'
dropped=$(in_ns "$server" nft -j list counter inet lossy dropped | grep -o '"packets": [0-9]*' | grep -o '[0-9]*')
ok 'the comparison was made' python3 \
	"$live_dir/tcp-check.py" "$room" "$server_pid" "$dropped" "$((after - before))" "$room/check.out" \
	"$(($(short_of_memory) - short_before))"
# A comparison that is left out is one that was written down: none may go missing.
compared=0 left_out=0
while IFS=$'\t' read -r name got want; do
	if [ "$got" = SKIP ]; then
		skip "$name" "$want"
		left_out=$((left_out + 1))
	else
		compared=$((compared + 1))
		is "$got" "$want" "$name"
	fi
done <"$room/check.out"
compare "$((compared + left_out))" -ge 60 'no comparison is missing'
compare "$left_out" -le 6 'only those that memory spoils were left out'

finish
