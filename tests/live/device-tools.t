#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# netsize, nettxlat, netqtop and txstack against the counters of ip and tc on a link with four queues, and against a
# program that reads packets from a tap interface.
# vm: 26
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3 tc ethtool
exact

ns_make client
ns_make server
ip -n "$client" link add v1 numtxqueues 4 numrxqueues 4 type veth \
	peer name v1 netns "$server" numtxqueues 4 numrxqueues 4 || exit 1
ip -n "$client" addr add 10.91.0.1/24 dev v1
ip -n "$server" addr add 10.91.0.2/24 dev v1
ip -n "$client" link set v1 up
ip -n "$server" link set v1 up
ns_quiet "$client" v1 10.91.0.2 "$server"
ns_quiet "$server" v1 10.91.0.1 "$client"
# The kernel segments large packets before the driver (GSO), and the receiver merges them (GRO).
in_ns "$client" ethtool -K v1 tso off || exit 1
in_ns "$server" ethtool -K v1 gro on || exit 1
# A tap interface completes a packet when its program reads it.
[ -e /dev/net/tun ] || modprobe tun
ip -n "$client" tuntap add dev tap9 mode tap || exit 1
in_ns "$client" sh -c 'echo 1 >/proc/sys/net/ipv6/conf/tap9/disable_ipv6' || exit 1
ip -n "$client" addr add 10.91.9.1/24 dev tap9

start() {
	nest_bg "$@" --json
	local name=$1
	[ "$2" = "-N" ] && [ "$3" = "$server" ] && name=${name}_server
	printf -v "${name}_out" %s "$nest_out"
	running+=("$nest_pid")
	errors+=("$nest_err")
}
now_ms() {
	date +%s%3N
}
# counted NAMESPACE DIRECTION: packets and bytes of the link, from ip.
counted() {
	ip -n "$1" -s -j link show dev v1 |
		from_json "'{packets} {bytes}'.format(**j[0]['stats64']['$2'])"
}
# by_queue: packets by queue, from tc.
by_queue() {
	in_ns "$client" tc -s -j qdisc show dev v1 |
		from_json '{int(q["parent"].split(":")[1], 16) - 1: q["packets"]
			for q in j if q.get("parent") and q["packets"]}'
}
# Wait for the last ACKs.
settled() {
	local now
	now=$(counted "$client" tx)
	sleep 0.2
	[ "$now" = "$(counted "$client" tx)" ]
}
# One run of all tools over the same traffic.
measure() {
	in_ns "$client" tc qdisc del dev v1 root 2>/dev/null
	in_ns "$client" tc qdisc replace dev v1 root handle 8: mq || exit 1
	running=() errors=()
	started=$(now_ms)
	start netsize -N "$client"
	start netsize -N "$server"
	start nettxlat -N "$client"
	start netqtop -N "$client" -d 600
	start txstack -N "$client" --where 'rport == 27001'
	for i in "${!running[@]}"; do
		nest_pid=${running[i]} wait_ready "${errors[i]}" 60 || exit 1
	done
	ready=$(now_ms)
	unseen_begin net/net_dev_queue 'name == "v1" || name == "tap9"' \
		net/net_dev_start_xmit 'name == "v1" || name == "tap9"' \
		net/netif_receive_skb 'name == "v1"' net/napi_gro_receive_entry 'name == "v1"'

	read -r sent_before sent_bytes_before <<<"$(counted "$client" tx)"
	read -r got_before got_bytes_before <<<"$(counted "$server" rx)"

	sink "$server" 10.91.0.2 27002 27001
	# 37 datagrams of 1000 bytes from as many ports, so that they spread over the queues, and a long write of TCP.
	in_ns "$client" python3 -c '
import socket
for port in range(37):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("10.91.0.1", 40001 + port))
    s.sendto(b"x" * 1000, ("10.91.0.2", 27001))
s = socket.create_connection(("10.91.0.2", 27002))
s.sendall(b"x" * 300000)
s.shutdown(socket.SHUT_WR)
s.recv(1)
' || exit 1
	wait "$sink_pid"
	# One datagram for the tap interface, whose program waits 60 ms before it reads.
	in_ns "$client" python3 -c '
import fcntl, os, socket, struct, subprocess, time
f = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(f, 0x400454ca, struct.pack("16sH22x", b"tap9", 0x1002))
subprocess.run(["ip", "link", "set", "tap9", "up"], check=True)
subprocess.run("ip neigh replace 10.91.9.2 lladdr 02:00:00:00:00:09 dev tap9 nud permanent".split(), check=True)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.sendto(b"x" * 700, ("10.91.9.2", 27003))
time.sleep(0.06)
while len(os.read(f, 2000)) != 742:
    pass
'
	wait_for 20 settled
	read -r sent sent_bytes <<<"$(counted "$client" tx)"
	read -r got got_bytes <<<"$(counted "$server" rx)"
	queues=$(by_queue)
	ending=$(now_ms)
	for pid in "${running[@]}"; do
		end_bg "$pid"
	done
	ended=$(now_ms)
}

# figures FILE EXPRESSION: of the records in r.
figures() {
	python3 -IS -c 'import json, sys
r = [json.loads(line) for line in open(sys.argv[1])]
def of(stage, field): return sum(e[field] for e in r if e["dev"] == "v1" and e["stage"] == stage)
print(eval("(" + sys.argv[2] + ")"))' "$1" "$2"
}
measure
# With GRO the interface counts bytes without the 14-byte link header.
packets=$((sent - sent_before)) bytes=$((sent_bytes - sent_bytes_before + 14 * (sent - sent_before)))
arrived=$((got - got_before)) arrived_bytes=$((got_bytes - got_bytes_before + 14 * (got - got_before)))
is "$(figures "$netsize_out" "of('nic_send', 'count'), of('nic_send', 'sum')")" \
	"($packets, $bytes)" 'netsize: the driver gets as many packets and bytes as ip counts'
is "$(figures "$netsize_server_out" "of('nic_recv', 'count'), of('nic_recv', 'sum')")" \
	"($arrived, $arrived_bytes)" 'netsize: as many arrive as ip counts'
is "$(figures "$netsize_out" "max(e['max'] for e in r if e['stage'] == 'nic_send' and e['dev'] == 'v1') <= 1514 <
	max(e['max'] for e in r if e['stage'] == 'send')")" True 'netsize: large packets are segmented on transmit'
is "$(figures "$netsize_server_out" "max(e['max'] for e in r if e['stage'] == 'nic_recv') <=
	1514 < max(e['max'] for e in r if e['stage'] == 'recv')")" True 'netsize: and merged on receive'
# GSO adds a header per segment, GRO removes them.
is "$(figures "$netsize_out" \
	"of('nic_send', 'sum') - of('send', 'sum') == 66 * (of('nic_send', 'count') - of('send', 'count')) > 0")" \
	True 'netsize: 66 bytes of headers for each piece'
is "$(figures "$netsize_server_out" \
	"of('nic_recv', 'sum') - of('recv', 'sum') == 66 * (of('nic_recv', 'count') - of('recv', 'count')) > 0")" \
	True 'netsize: and 66 bytes less for each that was put to another'

is "$(figures "$nettxlat_out" \
	"sum(e['count'] for e in r if e['dev'] == 'v1'), {e['end'] for e in r if e['dev'] == 'v1'}")" \
	"($packets, {'handed-on'})" 'nettxlat: a virtual link hands every packet on'
is "$(figures "$nettxlat_out" \
	"[(e['count'], 60e6 <= e['max'] < 5e9) for e in r if e['dev'] == 'tap9' and e['end'] == 'sent']")" \
	'[(1, True)]' 'nettxlat: the tap interface had it until it was read'

is "$(figures "$netqtop_out" "dict(sorted({e['queue']: e['count'] for e in r if e['dev'] == 'v1'
	and e['dir'] == 'tx'}.items(), reverse=True))")" "$queues" 'netqtop: as many packets by queue as tc counts'
is "$(figures "$netqtop_out" "len([e for e in r if e['dev'] == 'v1' and e['dir'] == 'tx']) > 1")" \
	True 'netqtop: more than one queue is used'
is "$(figures "$netqtop_out" "round(sum(e['share'] for e in r if e['dev'] == 'v1' and e['dir'] == 'tx'), 6)")" \
	1.0 'netqtop: the shares are those of the whole'
is "$(figures "$netqtop_out" \
	"{e['count'] == e['below_64'] + e['below_512'] + e['below_2K'] + e['below_16K'] + e['below_64K'] + e['above']
	for e in r}, sum(e['below_2K'] for e in r if e['dir'] == 'tx' and e['dev'] == 'v1') >= 37 + 200")" \
	'({True}, True)' 'netqtop: the sizes'
is "$(figures "$netqtop_out" "{e['sum'] * 1000 / ($ended - $started) - 1 <=
	e['sum_rate'] <= e['sum'] * 1000 / ($ending - $ready) + 1 for e in r}")" \
	'{True}' 'netqtop: the rates are those of the time that passed'

is "$(figures "$txstack_out" \
	"sum(e['count'] for e in r), {'udp_sendmsg' in [f.split('+')[0] for f in e['kstack']] for e in r}")" \
	'(37, {True})' 'txstack: every datagram, by udp_sendmsg'
for err in "${errors[@]}"; do
	like "$(tail -1 "$err")" ', 0 lost|missed while their BPF program was running$' 'nothing was lost for sure'
done
finish
