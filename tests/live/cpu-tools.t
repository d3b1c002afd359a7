#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# netcpu against the CPU time that the kernel accounts to a process with a known load.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3

load=$live_dir/cpu-load.py
python=$(python3 -c 'import sys; print(sys.executable)')
ns_make host

# sample NAME ARGUMENT ... -- LOAD ...: rows in $room/NAME.json, output of the load in $room/NAME.facts.
sample() {
	local name=$1
	shift
	in_ns "$host" "$nest" netcpu -F 997 \
		--json -o "$room/$name.json" "$@" >"$room/$name.facts" 2>"$room/$name.err" ||
		diag "$(cat "$room/$name.err")"
}

check() {
	python3 -IS -c 'import json, sys
r = [json.loads(line) for line in open(sys.argv[1] + ".json")]
pid, taken = map(int, open(sys.argv[1] + ".facts").read().split())
network = ("syscall", "socket", "tcp", "udp", "ip", "filter", "qdisc", "device", "driver", "softirq")
own = [e for e in r if e.get("pid", pid) == pid]
all = sum(e["sum"] for e in own)
net = sum(e["sum"] for e in own if e["layer"] in network)
print(eval("(" + sys.argv[2] + ")"))' "$room/$1" "$2"
}

sample net -b -- "$python" "$load" net 0.8
like "$(tail -1 "$room/net.err")" '^nest: [0-9]+ events, 0 lost$' 'nothing is lost'
# CPU time is accounted in ticks, by a clock that includes time stolen by the hypervisor: the two need not agree to the
# percent.
is "$(check net '0.7 * taken < all < 1.4 * taken')" True 'netcpu: as much time as the kernel counts for the process' ||
	diag "$(check net '(all, taken)')"
compare "$(check net 'int(100 * net / all)')" \
	-ge 30 'a good part of what a sender of datagrams takes is the network stack'
# Packets of other processes may arrive while it runs.
is "$(check net '{"udp", "ip", "softirq", "device"} <= {e["layer"] for e in own} and
	sum(e["sum"] for e in own if e["layer"] == "tcp") < 0.1 * net')" \
	True 'the layers that a datagram passes, and hardly that of TCP' || diag "$(cat "$room/net.json")"
is "$(check net \
	'abs(sum(e["share"] for e in r) - 1) < 1e-6 and {e["sum"] / e["count"] for e in r} == {1e9 // 997}')" True \
	'shares make up the whole, and each sample stands for its time'

sample burn -b -- "$python" "$load" burn 0.4
is "$(check burn '0.7 * taken < all < 1.4 * taken')" True 'the same of a process that only calculates' ||
	diag "$(check burn '(all, taken)')"
compare "$(check burn 'int(100 * net / all)')" -le 15 'which has next to nothing to do with the network'

# --- stacks ----------------------------------------------------------------------------------------------------------

in_ns "$host" "$nest" netcpu -F 997 --folded -- "$python" "$load" net 0.4 >"$room/folded" 2>/dev/null
ok 'netcpu --folded: functions from the outermost to the innermost, and how many' \
	grep -qE '^udp;[^;]*;.*sys_sendto_\[k\];.*udp_sendmsg_\[k\].* [0-9]+$' "$room/folded"
is "$(grep -vcE '^[a-z]+;[^;]+(;[^;]+)* [0-9]+$' "$room/folded")" \
	1 'every line is one, but the last, which is the load'\''s own'

# --- a recording -----------------------------------------------------------------------------------------------------

in_ns "$host" "$nest" netcpu -F 997 --save "$room/cpu.nest" --json -o "$room/kept.json" -- \
	"$python" "$load" net 0.3 >"$room/kept.facts" 2>&1
"$nest" netcpu -f "$room/cpu.nest" --json 2>/dev/null | sed 's/"time_ns":[0-9]*/"time_ns":0/' >"$room/replayed.json"
sed -i 's/"time_ns":[0-9]*/"time_ns":0/' "$room/kept.json"
ok 'netcpu -f: the same layers out of a recording' cmp "$room/kept.json" "$room/replayed.json"
compare "$(wc -l <"$room/replayed.json")" -ge 4 'of several layers'

finish
