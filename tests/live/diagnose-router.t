#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A router that nest runs on: no socket of its own waits. Shapers, loss behind it, links without a carrier and ICMP
# errors that its firewall drops, seen by a look that begins after the fault. Retransmissions that pass are compared
# with what the end host dropped.
# timeout: 180
# vm: 60
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3 nft tc
grep -aq SKB_DROP_REASON_NETFILTER_DROP /sys/kernel/btf/vmlinux || skip_all 'this kernel gives no drop reasons'

# network N: client, router and server, joined by links; addresses 10.95.N.2 and 10.95.N.66; one connection passes.
declare -A r s server_dev
network() {
	ns_make client
	ns_make router
	ns_make server
	ns_link "$client" "10.95.$1.2/26" "$router" "10.95.$1.1/26"
	ns_link "$server" "10.95.$1.66/26" "$router" "10.95.$1.65/26"
	server_dev[$1]=$link_dev
	ip -n "$client" route add default via "10.95.$1.1"
	ip -n "$server" route add default via "10.95.$1.65"
	in_ns "$router" sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
	r[$1]=$router s[$1]=$server
	load "$server" sink "10.95.$1.66"
	load "$client" source "10.95.$1.66"
}

# load NAMESPACE ROLE ADDRESS: in the background, ready.
load() {
	nsenter --net="/run/netns/$1" -- \
		python3 "$(dirname "$0")/late-load.py" "$2" "$3" 5000 >"$room/$2-$3" 2>/dev/null </dev/null &
	note_process "$!"
	wait_for 20 grep -q ready "$room/$2-$3" || { diag "$2 at $3 does not start"; exit 1; }
}

for n in 1 2 3 4 5 6; do
	network $n
done
# dropped WHAT: packets or bytes that the server of network 2 dropped. A packet may be several segments.
dropped() {
	in_ns "${s[2]}" nft -j list table inet f | what=$1 python3 -c '
import json, os, sys
print(sum(e["counter"][os.environ["what"]] for r in json.load(sys.stdin)["nftables"] if "rule" in r
          for e in r["rule"]["expr"] if "counter" in e))'
}
# 1: a shaper with a deep queue. 2: loss behind the router. 3: no carrier.
tc -n "${r[1]}" qdisc add dev "${server_dev[1]}" root tbf rate 4mbit burst 10kb limit 10mb
ns_drop "${s[2]}" input 'tcp dport 5000 numgen random mod 20 < 1 counter'
ip -n "${s[3]}" link set dev "${server_dev[3]}" down
# 4: large packets vanish. 5: nothing is wrong.
ns_drop "${r[4]}" output 'icmp type destination-unreachable counter'
ip -n "${r[4]}" link set dev "${server_dev[4]}" mtu 1200

# 6: the carrier comes and goes, for 20 s at most.
flap() {
	for _ in {1..20}; do
		ip -n "${s[6]}" link set dev "${server_dev[6]}" down
		sleep 0.3
		ip -n "${s[6]}" link set dev "${server_dev[6]}" up
		# The route went with the link.
		ip -n "${s[6]}" route add default via 10.95.6.65
		sleep 0.7
	done
}

# look_at N [SECONDS]
look_at() {
	look "$room/verdict-$1" -N "${r[$1]}" --json -d "${2:-3}" --past none
}
sleep 1.5
look_at 1
look_at 2
# Packets wait for a neighbour for 3 s and are dropped together.
look_at 3 6
look_at 4
look_at 5
bg flap
sleep 1.5
look_at 6
wait_looks

# found NAME: cause and module of each finding.
found() {
	python3 - "$room/verdict-$1" <<-'END'
		import json, sys
		found = [json.loads(line) for line in open(sys.argv[1])][-1]["findings"]
		print(*[f'{f["cause"]} {f["module"]}' for f in found] or ["nothing"], sep=", ")
	END
}
# Between two changes of the carrier the sender may rest until its next retransmission, and nothing is forwarded.
for _ in 1 2; do
	[ "$(found 6)" = nothing ] || break
	look_at 6
	wait_looks
done
like "$(found 1)" "qdisc-shaper qdisc:${server_dev[1]}" 'a shaper that only forwarded traffic waits for'
like "$(found 2)" '^path-loss path:10.95.2.66' 'loss behind the router'
like "$(found 3)" "^no-carrier link:${server_dev[3]}" 'a link without a carrier'
like "$(found 4)" '^(path-mtu path:10.95.4.66|firewall-drop filter:netfilter)' 'large packets, no ICMP error'
like "$(found 6)" "link-flapping link:${server_dev[6]}" 'a link whose carrier comes and goes'
is "$(found 5)" nothing 'a router that forwards is healthy'

# Retransmissions that pass, against the drops of the server, both from the first row on: starting takes seconds in an
# emulated machine.
nest_bg tables passing -N "${r[2]}" --json 0.5
passed() {
	python3 - "$nest_out" <<-'END'
		import json, sys
		rows = [json.loads(line) for line in open(sys.argv[1]) if line.endswith("\n")]
		print(max([row["repeat_bytes"] for row in rows if row.get("dport") == 5000] or [0]))
	END
}
wait_for 40 grep -q '"dport":5000' "$nest_out"
passed_before=$(passed) before=$(dropped bytes)
enough=$(($(dropped packets) + 60))
has_enough() { [ "$(dropped packets)" -ge "$enough" ]; }
wait_for 40 has_enough
lost=$(($(dropped bytes) - before)) passed=$(($(passed) - passed_before))
end_bg "$nest_pid"
diag "$lost bytes dropped behind the router, $passed bytes passed again"
ok 'retransmissions pass as often as the end host drops' \
	test "$passed" -ge $((lost / 3)) -a "$passed" -le $((lost * 3 / 2))
finish
