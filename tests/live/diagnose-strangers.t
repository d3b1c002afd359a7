#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Traffic that fails and that nobody misses, beside the same that somebody does: a host that a rule bans, and one that
# was a client before; telemetry that is rejected, and requests. A service that has never answered is missed all the
# same. A program that gave up before the run, so that its data waits alone.
# timeout: 120
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3 nft
grep -aq SKB_DROP_REASON_NETFILTER_DROP /sys/kernel/btf/vmlinux || skip_all 'this kernel gives no drop reasons'

# load NAMESPACE ROLE ARGUMENT ...: in the background, ready.
load() {
	nsenter --net="/run/netns/$1" -- python3 "$live_dir/strangers-load.py" "${@:2}" >"$room/load-$1-$2-$4" \
		2>&1 </dev/null &
	note_process "$!"
	wait_for 20 grep -q ready "$room/load-$1-$2-$4" || { diag "$2 does not start"; exit 1; }
}

# network N: $here 10.95.N.1, $there 10.95.N.2 to 10.95.N.6.
declare -A h t
network() {
	ns_make here
	ns_make there
	ns_link "$here" "10.95.$1.1/24" "$there" "10.95.$1.2/24"
	for last in 3 4 5 6; do
		ip -n "$there" addr add "10.95.$1.$last/24" dev "$link_dev"
	done
	h[$1]=$here t[$1]=$there
}

for n in 1 2 3 4 5 6; do
	network $n
done
# 1: a host that never was a client is banned, others are served. 2: the same with a client of before.
for n in 1 2; do
	load "${h[$n]}" serve "10.95.$n.1" 80
	load "${t[$n]}" visit "10.95.$n.3" "10.95.$n.1" 80
done
in_ns "${t[2]}" python3 "$live_dir/strangers-load.py" once 10.95.2.4 10.95.2.1 80 || exit 1
for n in 1 2; do
	ns_drop "${h[$n]}" input "ip saddr 10.95.$n.4"
	load "${t[$n]}" visit "10.95.$n.4" "10.95.$n.1" 80
done
# 3: a program with a timeout asks a service elsewhere that has never answered.
ns_drop "${t[3]}" input "tcp dport 99"
load "${h[3]}" visit 10.95.3.1 10.95.3.5 99
# 4: telemetry to a closed port. 5: requests to one.
load "${h[4]}" tell 10.95.4.2 8125
load "${h[5]}" ask 10.95.5.2 8125
# 6: the answers are dropped here, and the client has given up.
load "${t[6]}" serve 10.95.6.2 80
load "${h[6]}" leave 10.95.6.2 80
ns_drop "${h[6]}" input 'tcp sport 80'
backed_off() {
	in_ns "${h[6]}" ss -Htin state fin-wait-1 | grep -q 'backoff:[4-9]'
}
wait_for 30 backed_off || diag 'the data of 6 is not retransmitted'

for n in 1 2 3 4 5 6; do
	"$nest" diagnose -N "${h[$n]}" -d 3 --json --past none >"$room/verdict-$n" 2>"$room/verdict-$n.err" &
	looks[$n]=$!
	note_process "$!"
done
for n in 1 2; do
	"$nest" tables remembered 1 3 -N "${h[$n]}" --json >"$room/said-$n" 2>/dev/null
done
wait "${looks[@]}"

# first N: cause and module.
first() {
	python3 - "$room/verdict-$1" <<-'END'
		import json, sys
		found = [json.loads(line) for line in open(sys.argv[1])][-1]["findings"]
		print(*([found[0]["cause"], found[0]["module"]] if found else ["nothing"]))
	END
}
is "$(first 1)" nothing 'a banned host that was never a client is nobody'"'"'s trouble'
is "$(first 2)" 'firewall-drop filter:netfilter' 'a client of before is'
is "$(first 3)" 'connect-dropped peer:10.95.3.5:99' 'a service that has never answered is missed'
is "$(first 4)" nothing 'telemetry that nobody collects'
is "$(first 5)" 'peer-refused peer:10.95.5.2:8125' 'requests that are rejected'
is "$(first 6)" 'firewall-drop filter:netfilter' 'data whose program gave up before the run'
like "$(cat "$room/said-1")" '"raddr":"10.95.1.4","remembered":false' 'the kernel remembers no connection'
like "$(cat "$room/said-2")" '"raddr":"10.95.2.4","remembered":true' 'or one'
finish
