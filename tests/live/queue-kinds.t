#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# qdisclat on every kind of queue that this kernel has, and bqllat, irqlat and nettxlat on hardware, beside
# what tc, ip and /proc/interrupts count. Most kinds and an interface that is not virtual are only in the
# emulated machine (scripts/vm).
# vm: 60
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3 tc modprobe
require_event qdisc.wait
exact

ns_make client
ns_make server
ns_link "$client" 10.93.0.1/24 "$server" 10.93.0.2/24
link=$link_dev
# Neighbours that must be asked for would hold packets back before they come to the queue,
# and questions are packets, too.
ns_quiet "$client" "$link" 10.93.0.2 "$server"
ns_quiet "$server" "$link" 10.93.0.1 "$client"
in_ns "$client" ping -c 1 -W 5 -q 10.93.0.2 >/dev/null || { diag 'the link does not work'; exit 1; }

# send ADDRESS COUNT [PRIORITY]: COUNT datagrams of 1000 bytes at once.
send() {
	in_ns "$client" python3 -c '
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4000000)
s.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, int(sys.argv[3], 16))
for _ in range(int(sys.argv[2])):
    s.sendto(b"x" * 1000, (sys.argv[1], 27001))
' "$1" "$2" "${3:-0}"
}
# send_in_pieces ADDRESS: two datagrams that are cut into 41 packets each, inside the kernel:
# faster than any program can send.
send_in_pieces() {
	in_ns "$client" python3 -c '
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4000000)
for _ in range(2):
    s.sendto(b"x" * 60000, (sys.argv[1], 27001))
' "$1"
}
# let_go DEVICE: packets that the queue with the number 7 has let go, as tc counts them,
# those in it, and those it dropped.
let_go() {
	in_ns "$client" tc -s qdisc show dev "$1" | awk '
		/^qdisc/ { ours = $3 == "7:" }
		ours && /Sent/ { sent = $4; dropped = $7 + 0 }
		ours && /backlog/ { print sent, $3 + 0, dropped; exit }'
}
# is_done DEVICE COUNT: COUNT have left it, and none is left.
is_done() {
	local packets waiting dropped
	read -r packets waiting dropped <<<"$(let_go "$1")"
	[ "$waiting" = 0 ] && [ $((packets + dropped)) -ge "$2" ]
}
# queue DEVICE KIND [OPTION ...]: gives the interface such a queue; false, with the reason
# reported, when the kernel has none.
queue() {
	local dev=$1 kind=$2
	shift 2
	in_ns "$client" tc qdisc replace dev "$dev" root handle 7: "$kind" "$@" 2>"$room/tc.err" && return
	skip "qdisclat: $kind" "this kernel has no such queue: $(head -1 "$room/tc.err")"
	return 1
}

# shaped KIND [OPTION ...]: a queue that lets 4 Mbit/s go, so that the last of 37 datagrams waits about 70 ms.
shaped() {
	local kind=$1
	queue "$link" "$@" || return
	case $kind in
	htb) in_ns "$client" tc class replace dev "$link" parent 7: classid 7:1 htb rate 4mbit burst 2000 cburst 2000 ;;
	cbq) in_ns "$client" tc class replace dev "$link" \
		parent 7: classid 7:1 cbq bandwidth 1gbit rate 4mbit allot 1514 avpkt 1000 maxburst 2 bounded ;;
	esac || { fail "a class of $kind"; return; }
	send 10.93.0.2 37 70001
	wait_for 30 is_done "$link" 37
	printf '%s %s\n' "$kind" "$(let_go "$link")" >>"$room/shaped"
	in_ns "$client" tc qdisc del dev "$link" root
}

# watch KIND ...: qdisclat, and beside it the tools that have names of their own, of kinds
# that no other test has a queue of.
watch() {
	local kind
	nest_bg qdisclat -N "$client" --json
	lat_pid=$nest_pid lat_out=$nest_out lat_err=$nest_err
	kinds=("$@") pids=() outs=() errs=()
	for kind; do
		nest_bg "qdisc-$kind" -N "$client" --json
		pids+=("$nest_pid") outs+=("$nest_out") errs+=("$nest_err")
	done
	nest_pid=$lat_pid wait_ready "$lat_err" 60 || exit 1
	for kind in "${!pids[@]}"; do
		nest_pid=${pids[kind]} wait_ready "${errs[kind]}" 60 || exit 1
	done
}
# unwatch: ends them. Each has shown its own kind as qdisclat did, and nothing where there was no such queue.
unwatch() {
	local i pid shown
	for pid in "$lat_pid" "${pids[@]}"; do
		end_bg "$pid"
	done
	for i in "${!kinds[@]}"; do
		shown="sorted((e['kind'], e['dev'], sum(b['count'] for b in e['hist'])) for e in r"
		is "$(figures "${outs[i]}" "$shown)")" \
			"$(figures "$lat_out" "$shown if e['kind'] == '${kinds[i]}')")" \
			"qdisc-${kinds[i]}: what qdisclat says of it"
	done
}

unseen_begin net/net_dev_queue "name == \"$link\"" qdisc/qdisc_dequeue 'handle == 0x70000'
: >"$room/shaped"
# The names of their own: qdisc-fq and qdisc-cbs here, qdisc-codel, qdisc-fq_codel and qdisc-red below.
watch fq cbs
shaped tbf rate 4mbit burst 3000 limit 100000
shaped htb default 1
shaped fq maxrate 4mbit
shaped cake bandwidth 4mbit
shaped cbs idleslope 4000 sendslope -9996000 hicredit 1 locredit -1514 offload 0
shaped cbq bandwidth 1gbit avpkt 1000
shaped netem delay 50ms
unwatch
figures "$lat_out" '"\n".join(" ".join(map(str,
	(e["kind"], e["count"], e["dev"], e["handle"], 0.035 < e["max"] / 1e9 < 10))) for e in r)' >"$room/rows"
while read -r kind packets _; do
	read -r _ counted rest <<<"$(grep "^$kind " "$room/rows")"
	diag "$kind: tc counts $packets, $counted of them waited"
	is "$counted $rest" "$packets $link 0x70000 True" \
		"qdisclat: $kind: as many packets as tc counts, and the last waits as long as the rate says"
done <"$room/shaped"

# --- an interface with interrupts and byte queue limits --------------------------------------------------------------

hardware() {
	local driver
	# It says only every 10 ms that packets have gone.
	modprobe -r e1000 2>/dev/null
	modprobe e1000 InterruptThrottleRate=100 2>/dev/null
	for driver in /sys/class/net/*/device/driver; do
		[ "$(basename "$(readlink "$driver")")" != e1000 ] || basename "$(dirname "$(dirname "$driver")")"
	done | head -1
}
nic=
[ -z "${NEST_VM-}" ] || nic=$(hardware)
if [ -z "$nic" ]; then
	skip 'queues that pass packets on at once, and the tools of hardware' 'only in the emulated machine'
	finish
fi
limits=/sys/class/net/$nic/queues/tx-0/byte_queue_limits
echo 2000 >"$limits/limit_max"
ip link set "$nic" netns "$client" || exit 1
# It must not look for routers and neighbours on its own.
in_ns "$client" sh -c "echo 1 >/proc/sys/net/ipv6/conf/$nic/disable_ipv6" || exit 1
ip -n "$client" addr add 10.93.7.1/24 dev "$nic"
ip -n "$client" link set "$nic" up || exit 1
has_carrier() {
	ip -n "$client" link show dev "$nic" | grep -q LOWER_UP
}
wait_for 10 has_carrier
ip -n "$client" neigh replace 10.93.7.2 lladdr 02:00:00:00:00:07 dev "$nic" nud permanent || exit 1

# A full link is what such queues are for: with 2000 bytes under way at most each packet waits for the one before.
: >"$room/full"
watch codel fq_codel red
full() {
	local kind=$1
	queue "$nic" "$@" || return
	send_in_pieces 10.93.7.2
	wait_for 30 is_done "$nic" 82
	printf '%s %s\n' "$kind" "$(let_go "$nic")" >>"$room/full"
	in_ns "$client" tc qdisc del dev "$nic" root
}
full codel
full fq_codel
full red limit 1000000 min 300000 max 600000 avpkt 1000 burst 301
full sfq
full pie
full pfifo limit 1000
unwatch
figures "$lat_out" '"\n".join(" ".join(map(str, (e["kind"], e["count"], e["max"] > 0))) for e in r)' >"$room/rows"
while read -r kind packets _; do
	read -r _ counted known <<<"$(grep "^$kind " "$room/rows")"
	diag "$kind: tc counts $packets, $counted of them waited"
	# A packet that finds the queue empty passes it by.
	is "$((counted > 10 && counted <= packets)) $known" '1 True' "qdisclat: $kind"
done <"$room/full"

queue "$nic" pfifo limit 1000 || exit 1
running=() errors=()
start() {
	nest_bg "$@" -j
	printf -v "$1_out" %s "$nest_out"
	running+=("$nest_pid")
	errors+=("$nest_err")
}
# interrupts: how many the interface had.
interrupts() {
	awk -v name="$nic" '$NF == name { for (i = 2; i < NF && $i ~ /^[0-9]+$/; i++) n += $i } END { print n + 0 }' \
		/proc/interrupts
}
sent() {
	ip -n "$client" -s -j link show dev "$nic" |
		from_json 'j[0]["stats64"]["tx"]["packets"]'
}
irqs_before=$(interrupts) sent_before=$(sent)
start irqlat
start bqllat -N "$client"
start nettxlat -N "$client"
start napilat -i "$nic"
for i in "${!running[@]}"; do
	nest_pid=${running[i]} wait_ready "${errors[i]}" 60 || exit 1
done
irqs_ready=$(interrupts) sent_ready=$(sent)
send 10.93.7.2 370
wait_for 30 is_done "$nic" 370
all_sent() {
	[ "$(sent)" -ge $((sent_ready + 370)) ]
}
wait_for 30 all_sent
irqs_done=$(interrupts)
for pid in "${running[@]}"; do
	end_bg "$pid"
done
irqs_after=$(interrupts)
is "$sent_ready" "$sent_before" 'nobody else sends'
is "$(figures "$irqlat_out" "[($irqs_done - $irqs_ready) * 0.9 - 2 <= e['count'] <= $irqs_after - $irqs_before
	for e in r if e['name'] == '$nic']")" '[True]' 'irqlat: as many interrupts as /proc/interrupts counts'
is "$(figures "$nettxlat_out" \
	"[(e['dev'], e['queue'], e['end'], 365 <= e['count'] <= 370, e['min'] > 0) for e in r]")" \
	"[('$nic', 0, 'sent', True, True)]" 'nettxlat: every packet until the hardware has sent it'
is "$(figures "$bqllat_out" "[(e['dev'], e['queue'], 10 < e['count'] <= 370, e['min'] > 0) for e in r]")" \
	"[('$nic', 0, True, True)]" 'bqllat: the limit stops the queue repeatedly'
is "$(figures "$napilat_out" "[(e['dev'], e['count'] > 0) for e in r]")" \
	"[('$nic', True)]" 'napilat: the interface asks, and waits'
finish
