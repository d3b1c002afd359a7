#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# softirqlat, irqlat, softnet, napilat and bqllat against the kernel's counters. Those are host-wide: the counts of nest
# lie between the change while it certainly ran and the change from before its start to after its end.
# vm: 29
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3 ethtool taskset

ns_make client
ns_make server
ns_link "$client" 10.92.0.1/24 "$server" 10.92.0.2/24
plain=$link_dev
# Kernel threads are named after it: the name must be unique.
polled=n$$
ip -n "$client" link add "$polled" type veth peer name "$polled" netns "$server" || exit 1
ip -n "$client" addr add 10.92.1.1/24 dev "$polled"
ip -n "$server" addr add 10.92.1.2/24 dev "$polled"
ip -n "$client" link set "$polled" up
ip -n "$server" link set "$polled" up
# With GRO and a sender that segments, NAPI polls the receiving end; otherwise packets take the per-CPU backlog.
in_ns "$client" ethtool -K "$polled" tso off || exit 1
in_ns "$server" ethtool -K "$polled" gro on || exit 1
# One write is segmented just before the link, so that all segments arrive at once.
in_ns "$client" ethtool -K "$plain" tx-udp-segmentation off || exit 1
for address in 10.92.0.2 10.92.1.2; do
	in_ns "$client" ping -c 1 -W 5 -q "$address" >/dev/null || { diag 'a link does not work'; exit 1; }
done

# look NAME: saves the kernel's counters to a file.
look() {
	cp /proc/softirqs "$room/softirqs.$1"
	cp /proc/interrupts "$room/interrupts.$1"
	cp /proc/net/softnet_stat "$room/softnet.$1"
}
# received DEVICE: received packets, from ip.
received() {
	ip -n "$server" -s -j link show dev "$1" |
		from_json 'j[0]["stats64"]["rx"]["packets"]'
}
running=() errors=()
start() {
	local name=$1
	shift
	nest_bg "$@" --json
	printf -v "$name" %s "$nest_out"
	running+=("$nest_pid")
	errors+=("$nest_err")
}

look before
start softirqlat softirqlat -r
start waits softirqlat
start irqlat irqlat -a
start softnet softnet -d 600
start devices softnet --devices -N "$server" -d 600
start napilat napilat -N "$server"
start polls trace napi.poll -i "$polled" -N "$server"
for i in "${!running[@]}"; do
	nest_pid=${running[i]} wait_ready "${errors[i]}" 60 || exit 1
done
# The counters of a CPU are known once it has processed a packet from its backlog.
in_ns "$client" taskset -c 0 ping -c 1 -W 5 -q 10.92.0.2 >/dev/null
look ready
plain_before=$(received "$plain") polled_before=$(received "$polled")
ok 'packets on one CPU' in_ns "$client" taskset -c 0 python3 -c '
import os, socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(700):
    s.sendto(b"x" * 500, ("10.92.0.2", 27001))
for _ in range(300):
    s.sendto(b"x" * 500, ("10.92.1.2", 27001))
s.setsockopt(socket.IPPROTO_UDP, 103, 1000) # UDP_SEGMENT
for _ in range(5):
    s.sendto(b"x" * 37000, ("10.92.0.2", 27001))
f = os.open("'"$room"'/written", os.O_CREAT | os.O_WRONLY)
for _ in range(20):
    os.write(f, b"x" * 4096)
    os.fsync(f)
'
polled_all() {
	[ "$(received "$polled")" -ge $((polled_before + 300)) ] &&
		[ "$(received "$plain")" -ge $((plain_before + 885)) ]
}
ok 'all of them arrive' wait_for 20 polled_all
look over
plain_packets=$(($(received "$plain") - plain_before)) polled_packets=$(($(received "$polled") - polled_before))
for pid in "${running[@]}"; do
	end_bg "$pid"
done
look after

# figures FILE EXPRESSION: of the records in r; within(count, name, key): whether it lies where the counters say.
figures() {
	python3 -IS -c 'import json, os, sys
room, cpus = sys.argv[3], os.cpu_count()
r = [json.loads(line) for line in open(sys.argv[1])]
def line(name, look, key):
    if name == "softnet":
        return int(open(f"{room}/{name}.{look}").read().splitlines()[key].split()[0], 16)
    for l in open(f"{room}/{name}.{look}"):
        if l.strip().startswith(key + ":"):
            return sum(int(n) for n in l.split(":")[1].split()[:cpus] if n.isdigit())
def within(count, name, key):
    before, ready, over, after = (line(name, look, key) for look in ("before", "ready", "over", "after"))
    # Runs in progress at either end are counted at their start there and at their end here, and on a busy machine the
    # kernel now and then misses a run (docs/events.md).
    good = (over - ready) * 0.8 - 2 * cpus <= count <= (after - before) % 2**32 + 2 * cpus
    return True if good else (before, ready, over, after, count)
print(eval("(" + sys.argv[2] + ")"))' "$1" "$2" "$room"
}
is "$(figures "$softirqlat" "[within(e['count'], 'softirqs', 'NET_RX') for e in r if e['vec'] == 'NET_RX']")" \
	'[True]' 'softirqlat: as many runs as /proc/softirqs counts'
is "$(figures "$softirqlat" "{e['vec'] for e in r} <= {'NET_RX', 'NET_TX'}")" \
	True 'softirqlat: only work of the network'
is "$(figures "$waits" "[within(e['count'], 'softirqs', 'NET_RX') for e in r if e['vec'] == 'NET_RX']")" \
	'[True]' 'softirqlat: how long each of them waited is known'
is "$(figures "$irqlat" "{within(sum(e['count'] for e in r if e['irq'] == irq), 'interrupts', str(irq))
	for irq in {e['irq'] for e in r}}")" '{True}' 'irqlat: as many interrupts as /proc/interrupts counts'
is "$(figures "$irqlat" "{e['name'] in open(room + '/interrupts.over').read() for e in r}")" \
	'{True}' 'irqlat: with their names'

is "$(figures "$softnet" "[700 <= e['packets'] <= (line('softnet', 'after', 0) - line('softnet', 'before', 0)) % 2**32
	for e in r if e['cpu'] == 0]")" '[True]' 'softnet: the packets are those of the CPU'
is "$(figures "$softnet" "{e['count'] > 0 and e['run_ns'] > 0 and e['max'] >= e['min'] >= 0 for e in r}")" \
	'{True}' 'softnet: runs, time and backlog'
is "$(figures "$softnet" "[e['max'] >= 37 for e in r if e['cpu'] == 0]")" \
	'[True]' 'softnet: as many wait as come at once'
is "$(figures "$devices" "sum(e['count'] for e in r if e['dev'] == '$plain') >= $plain_packets * 0.8,
	[e['share'] > 0.9 for e in r if e['dev'] == '$plain' and e['cpu'] == 0]")" \
	'(True, [True])' 'softnet: the CPU that takes the packets of an interface'

is "$(figures "$polls" "sum(e['packets'] for e in r) >= $polled_packets * 0.8, {e['dev'] for e in r}")" \
	"(True, {'$polled'})" 'napi.poll: as many packets as ip counts'
is "$(figures "$polls" \
	"max(e['packets'] for e in r) <= 64, {e['run_ns'] > 0 for e in r if e['run_ns'] is not None}")" \
	'(True, {True})' 'napi.poll: no more than may be taken at once, and how long it took'
is "$(figures "$napilat" \
	"[(e['count'] > 0, 0 <= e['min'] <= e['max'] < 60e9) for e in r if e['dev'] == '$polled']")" \
	'[(True, True)]' 'napilat: how long the interface waited'
for err in "${errors[@]}"; do
	like "$(tail -1 "$err")" ', 0 lost|missed while their BPF program was running$' 'nothing was lost for sure'
done

# --- a CPU that does not keep up -------------------------------------------------------------------------------------
# The limits are host-wide: only in the test's own machine.
if [ -z "${NEST_VM-}" ]; then
	skip 'softnet: what a CPU drops and leaves' 'only in the emulated machine'
else
	# moved COLUMN FILE FILE: change of a column of the per-CPU counters.
	moved() {
		python3 -c 'import sys
a, b = ([int(l.split()[int(sys.argv[1])], 16) for l in open(f)] for f in sys.argv[2:])
print(sum(b) - sum(a))' "$@"
	}
	nest_bg softnet -d 600 --json
	wait_ready "$nest_err" 60 || exit 1
	in_ns "$client" ping -c 1 -W 5 -q 10.92.0.2 >/dev/null
	look ready
	sysctl -qw net.core.netdev_max_backlog=9 net.core.netdev_budget=2 || exit 1
	in_ns "$client" python3 -c '
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_UDP, 103, 1000)
for _ in range(3):
    s.sendto(b"x" * 37000, ("10.92.0.2", 27001))
'
	in_ns "$client" ping -c 1 -W 5 -q 10.92.0.2 >/dev/null
	look over
	end_bg "$nest_pid"
	dropped=$(moved 1 "$room/softnet.ready" "$room/softnet.over") \
		squeezed=$(moved 2 "$room/softnet.ready" "$room/softnet.over")
	compare "$dropped" -gt 20 'the CPU drops'
	is "$(figures "$nest_out" 'sum(e["dropped"] for e in r)')" \
		"$dropped" 'softnet: as many drops as the kernel counts'
	compare "$squeezed" -gt 3 'and leaves work for later'
	is "$(figures "$nest_out" 'sum(e["squeezed"] for e in r)')" "$squeezed" 'softnet: as often as the kernel counts'
	sysctl -qw net.core.netdev_max_backlog=1000 net.core.netdev_budget=300
fi

# --- a queue that is stopped -----------------------------------------------------------------------------------------
# The thread that polls the receiving end is off the CPU for 100 ms: its ring fills, and the driver stops the queue.
stopped='bqllat: a driver without room'
in_ns "$client" tc qdisc replace dev "$polled" root handle 9: pfifo limit 1000 || exit 1
thread=
if ip netns exec "$server" sh -c "echo 1 >/sys/class/net/$polled/threaded" 2>/dev/null; then
	thread=$(grep -lx "napi/$polled-[0-9]*" /proc/[0-9]*/comm 2>/dev/null | cut -d/ -f3)
fi
if [ -z "$thread" ] || ! chrt -f 50 true 2>/dev/null; then
	skip "$stopped" 'needs polling by threads (Linux 5.12) and SCHED_FIFO'
elif ! taskset -pc 1 "$thread" >/dev/null 2>&1; then
	skip "$stopped" 'needs a second CPU'
else
	running=() errors=()
	start held bqllat -a -N "$client"
	start limited bqllat -N "$client"
	for i in "${!running[@]}"; do
		nest_pid=${running[i]} wait_ready "${errors[i]}" 60 || exit 1
	done
	in_ns "$client" python3 -c '
import os, socket, sys, time
os.sched_setaffinity(0, {0})
ready, go = os.pipe()
if os.fork() == 0:
    os.sched_setaffinity(0, {1})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
    os.write(go, b"x")
    end = time.monotonic() + 0.1
    while time.monotonic() < end:
        pass
    os._exit(0)
os.read(ready, 1)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(600):
    s.sendto(b"x" * 100, ("10.92.1.2", 27001))
os.wait()
'
	drained() {
		in_ns "$client" tc -s -j qdisc show dev "$polled" | grep -q '"qlen":0'
	}
	wait_for 20 drained
	requeues=$(in_ns "$client" tc -s -j qdisc show dev "$polled" | from_json 'j[0]["requeues"]')
	for pid in "${running[@]}"; do
		end_bg "$pid"
	done
	if [ "$requeues" -eq 0 ]; then
		skip "$stopped" 'this kernel has links that never stop (before Linux 6.16)'
	else
		is "$(figures "$held" \
			"[(e['queue'], e['by'], 1e6 < e['max'] < 3e9) for e in r if e['dev'] == '$polled']")" \
			"[(0, 'driver', True)]" "$stopped"
		is "$(wc -l <"$limited")" 0 'bqllat: which is no limit of bytes'
	fi
fi
finish
