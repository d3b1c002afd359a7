#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Under emulation (scripts/vm) it takes minutes. timeout: 400
# Interfaces, queues, routes, neighbours, counters, firewall, tunnels, groups: every figure beside
# what ip, tc, nstat and nft say.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd ip tc nsenter nstat ping /usr/bin/python3

check() {
	/usr/bin/python3 "$live_dir/snapshot-check.py" "$@"
}

ns_make a
ns_make b
ip -n "$a" link add v0 type veth peer name v0 netns "$b"
ip -n "$a" addr add 10.66.0.1/24 dev v0
ip -n "$a" addr add fd66::1/64 dev v0 nodad
ip -n "$b" addr add 10.66.0.2/24 dev v0
ip -n "$b" addr add fd66::2/64 dev v0 nodad
ip -n "$a" link set v0 mtu 1400 txqueuelen 77 up
ip -n "$b" link set v0 up
in_ns "$a" tc qdisc add dev v0 root handle 1: htb default 10
in_ns "$a" tc class add dev v0 parent 1: classid 1:10 htb rate 8mbit ceil 16mbit
in_ns "$a" tc class add dev v0 parent 1: classid 1:20 htb rate 4mbit
in_ns "$a" tc qdisc add dev v0 parent 1:10 handle 10: tbf rate 8mbit burst 10k limit 20k
in_ns "$a" tc qdisc add dev v0 parent 1:20 handle 20: pfifo limit 33
in_ns "$b" tc qdisc add dev v0 root bfifo limit 5000
ip -n "$a" route add 10.67.0.0/16 via 10.66.0.2 metric 50 mtu 1300
ip -n "$a" route add blackhole 10.68.0.0/16
ip -n "$a" route add unreachable 10.69.0.0/16
ip -n "$a" route add 10.70.0.0/16 via 10.66.0.77 table 1000
ip -n "$a" route add fd67::/64 via fd66::2
# Packets that pass, that are dropped for the shaper's limit, and a neighbour that is not there.
wait_for 5 in_ns "$a" ping -c1 -W1 10.66.0.2
in_ns "$a" /usr/bin/python3 -c '
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
for _ in range(300):
    s.sendto(b"x" * 1200, ("10.66.0.2", 9))'
in_ns "$a" ping -6 -q -c 2 -i 0.2 fd66::2 >"$room/six.txt" 2>&1
in_ns "$a" ping -q -c1 -W1 10.66.0.99 >"$room/none.txt" 2>&1
wait_for 5 sh -c "ip -n $a neigh show 10.66.0.99 | grep -q FAILED"

# Nothing must move between two readings: one that met a late packet is made again.
compare_with() {
	local kind=$1 table=$2 try
	shift 2
	for try in 1 2 3 4 5; do
		"$nest" tables "$table" -N "$a" --json >"$room/nest.json" 2>"$room/nest.err" || return 1
		"$@" >"$room/other.json" || return 1
		check "$kind" "$room/nest.json" "$room/other.json" >"$room/check.txt" && return 0
		sleep "0.$try"
	done
	cat "$room/check.txt"
	return 1
}

ok 'links as ip has them' compare_with links link ip -n "$a" -s -d -j link show
ok 'addresses as ip has them' compare_with addresses address ip -n "$a" -j addr show
ok 'queues as tc has them' compare_with qdiscs qdisc in_ns "$a" tc -s -j qdisc show
compare "$(/usr/bin/python3 -c '
import json,sys
print(sum(json.loads(l)["drops"] for l in open(sys.argv[1])))' "$room/nest.json")" \
	-gt 0 'and some packets were dropped there'
in_ns "$a" tc -s -d class show dev v0 >"$room/classes.txt"
"$nest" tables class -N "$a" --json >"$room/nest.json" 2>/dev/null
ok 'classes as tc has them' /usr/bin/python3 - "$room/nest.json" "$room/classes.txt" <<-'END'
	import json, re, sys
	ours = {r["handle"]: r for r in map(json.loads, open(sys.argv[1]))}
	block = r"class htb (\S+).*?rate (\d+)Mbit ceil (\d+)Mbit.*?Sent (\d+) bytes (\d+) pkt \(dropped (\d+)"
	blocks = re.findall(block, open(sys.argv[2]).read(), re.S)
	assert len(blocks) == 2, blocks
	for handle, rate, ceil, sent, packets, dropped in blocks:
	    r = ours.pop(handle)
	    assert (r["rate"], r["ceil"]) == (int(rate) * 125000, int(ceil) * 125000), r
	    assert (r["bytes"], r["packets"], r["drops"]) == (int(sent), int(packets), int(dropped)), r
	# The leaf of the token bucket is a class of its own.
	assert all(h.startswith("10:") for h in ours), ours
END
# all_routes: of both families, as one list.
all_routes() {
	ip -n "$a" -d -4 -j route show table all >"$room/r4" && ip -n "$a" -d -6 -j route show table all >"$room/r6" &&
		/usr/bin/python3 -c 'import json, sys
print(json.dumps(sum((json.load(open(f)) for f in sys.argv[1:]), [])))' "$room/r4" "$room/r6"
}
ok 'routes as ip has them' compare_with routes route all_routes
ok 'neighbours as ip has them' compare_with neighbours neighbour ip -n "$a" -j neigh show nud all
like "$(cat "$room/nest.json")" '"raddr":"10.66.0.99","lladdr":null,"neigh_state":"FAILED"' \
	'and the one that is not there has failed'
ok 'counters as nstat has them' compare_with counters counter in_ns "$a" nstat -asz --json
compare "$(sed -n 's/ values compared.*//p' "$room/check.txt")" -gt 250 'all of them'

# --- limits of other kinds of queues, where the kernel has them
queue_kind() {
	local kind=$1 want=$2
	shift 2
	if in_ns "$b" tc qdisc replace dev lo root handle 77: "$kind" "$@" 2>/dev/null; then
		like "$("$nest" tables qdisc -N "$b" --json 2>/dev/null | grep '"handle":"77:"')" \
			"$want" "$kind: what it was given"
	else
		skip "$kind" 'this kernel has none'
	fi
	in_ns "$b" tc qdisc del dev lo root 2>/dev/null
}
queue_kind netem \
	'"limit_packets":77,"limit_bytes":null,"rate":1250000,.*"delay_ns":20000000,"loss":0\.2(5|499999|500000)' \
	limit 77 delay 20ms loss 25% rate 10mbit
queue_kind fq_codel '"limit_packets":55,' limit 55
queue_kind fq '"limit_packets":66,' limit 66
queue_kind codel '"limit_packets":44,' limit 44
queue_kind red '"limit_bytes":400000,' limit 400000 min 30000 max 90000 avpkt 1000 burst 55 probability 0.02

# --- the way to the addresses in use
in_ns "$a" /usr/bin/python3 -c '
import socket, sys
kept = []
for host in ("10.66.0.2", "10.67.1.1", "10.68.1.1", "10.69.1.1", "10.99.1.1", "fd67::5"):
    s = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("fd66::1" if ":" in host else "10.66.0.1", 0))
    try:
        s.connect((host, 9))
        kept.append(s)
    except OSError as e:
        print(host, e.errno)
print("ready", flush=True)
sys.stdin.read()' </dev/zero >"$room/ways.txt" 2>&1 &
note_process $!
wait_for 10 grep -q ready "$room/ways.txt"
"$nest" routes --used -N "$a" --json >"$room/used.json" 2>"$room/used.err"
ok 'ways are what ip route get says' /usr/bin/python3 - "$room/used.json" "$a" <<-'END'
	import json, subprocess, sys
	rows = {r["raddr"]: r for r in map(json.loads, open(sys.argv[1]))}
	assert set(rows) >= {"10.66.0.2", "10.67.1.1", "fd67::5"}, rows
	for host, r in rows.items():
	    run = subprocess.run(["ip", "-n", sys.argv[2], "-j", "route", "get", host], capture_output=True, text=True)
	    assert (run.returncode == 0) == (r["error"] is None), (host, r, run)
	    if run.returncode == 0:
	        (want,) = json.loads(run.stdout)
	        assert r["dev"] == want["dev"] and r["gateway"] == want.get("gateway"), (r, want)
	assert rows["10.67.1.1"]["path_mtu"] == 1300, rows["10.67.1.1"]
	assert rows["10.66.0.2"]["sockets"] == 1
END
# A route that goes away under a socket.
ip -n "$a" route del 10.67.0.0/16
like "$("$nest" routes --used -N "$a" --json 2>/dev/null | grep 10.67.1.1)" \
	'"error":"ENETUNREACH"' 'no route: ENETUNREACH'
ip -n "$a" route add blackhole 10.67.0.0/16
like "$("$nest" routes --used -N "$a" --json 2>/dev/null | grep 10.67.1.1)" '"error":"EINVAL"' 'a blackhole: EINVAL'

# --- firewall
if command -v nft >/dev/null && in_ns "$a" nft list ruleset >/dev/null 2>&1; then
	in_ns "$a" nft -f - <<-'END'
		table inet f {
			chain other {
				return
			}
			chain in {
				type filter hook input priority 0; policy accept;
				icmp type echo-request counter drop comment "no ping"
				tcp dport 81 counter reject
				tcp dport 82 jump other
				udp dport 83 counter accept
				counter
			}
		}
		table ip6 six {
			chain out {
				type filter hook output priority 10; policy drop;
			}
		}
	END
	in_ns "$b" ping -q -c 2 -i 0.2 -W 1 10.66.0.1 >/dev/null 2>&1
	ok 'rules as nft has them' compare_with firewall firewall_rule in_ns "$a" nft -j list ruleset
	like "$(grep 'no ping' "$room/nest.json")" \
		'"packets":2,"bytes":168,"verdict":"drop"' 'and what was dropped is counted'
	like "$("$nest" tables firewall_chain -N "$a" --json 2>/dev/null)" \
		'"nf_family":"ip6","nf_table":"six","chain":"out","hook":"output","priority":10,"policy":"drop"' \
		'chains with their policy'
else
	skip 'firewall' 'needs nft and a kernel with nftables'
fi

# --- tunnels
if ip -n "$a" link add vx type vxlan id 42 remote 10.66.0.2 local 10.66.0.1 dstport 4789 2>/dev/null; then
	like "$("$nest" tables tunnel -N "$a" --json 2>/dev/null)" \
		'"dev":"vx","kind":"vxlan","laddr":"10.66.0.1","raddr":"10.66.0.2","rport":4789,"key":42,' \
		'a VXLAN with its ends'
else
	skip 'VXLAN' 'this kernel has none'
fi
if [ -c /dev/net/tun ]; then
	in_ns "$a" /usr/bin/python3 -c '
import fcntl, os, struct, sys
fd = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(fd, 0x400454CA, struct.pack("16sH22x", b"nest7", 0x1001))
print("ready", os.getpid(), fd, flush=True)
sys.stdin.read()' </dev/zero >"$room/tun.txt" 2>&1 &
	note_process $!
	wait_for 10 grep -q ready "$room/tun.txt"
	read -r _ tun_pid tun_fd <"$room/tun.txt"
	like "$("$nest" tables tunnel -N "$a" --json 2>/dev/null | grep nest7)" \
		"\"kind\":\"tun\".*\"pid\":$tun_pid,\"fd\":$tun_fd}" 'a TUN device and the process behind it'
else
	skip 'TUN' 'needs /dev/net/tun'
fi

# --- rates
in_ns "$a" ping -q -i 0.02 -c 500 10.66.0.2 >/dev/null 2>&1 &
note_process $!
echos() {
	in_ns "$a" nstat -asz --json IcmpOutEchos | sed 's/.*"IcmpOutEchos":\([0-9]*\).*/\1/'
}
before=$(echos)
moving() {
	[ "$(echos)" != "$before" ]
}
wait_for 10 moving
"$nest" counters -N "$a" --json 0.5 2 --where 'counter == "IcmpOutEchos"' >"$room/rates.json" 2>"$room/rates.err"
after=$(echos)
ok 'how far and how fast a counter moves' /usr/bin/python3 - "$room/rates.json" "$before" "$after" <<-'END'
	import json, sys
	first, second = [json.loads(line) for line in open(sys.argv[1])]
	before, after = int(sys.argv[2]), int(sys.argv[3])
	assert before <= first["value"] <= second["value"] <= after, (before, first, second, after)
	assert second["value"] - first["value"] == second["delta"] > 0, (first, second)
	for r in (first, second):
	    # The looks are half a second apart, more or less.
	    assert 0.4 < r["delta"] / r["rate"] < 1.5, r
END

# --- limits
ok 'limits are what /proc says' /usr/bin/python3 - "$nest" "$a" <<-'END'
	import json, subprocess, sys
	command = [sys.argv[1], "limits", "-N", sys.argv[2], "--json"]
	out = subprocess.run(command, capture_output=True, text=True).stdout
	rows = {r["limit"]: r for r in map(json.loads, out.splitlines())}
	pages = [int(x) * 4096 for x in open("/proc/sys/net/ipv4/tcp_mem").read().split()]
	assert rows["tcp-memory"]["max"] == pages[2], rows["tcp-memory"]
	assert rows["open-files"]["max"] == int(open("/proc/sys/fs/file-nr").read().split()[2])
	for r in rows.values():
	    assert abs(r["share"] - r["used"] / r["max"]) < 1e-9
END
finish
