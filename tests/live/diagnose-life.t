#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs that begin after the fault, judged by what the kernel remembers: lost ACKs, loss in spells, a short backlog, a
# name server that loses queries; and keep-alive probes, which are no fault. The programs record what they see.
# timeout: 180
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3 nft ip ethtool

declare -A here_of router_of there_of

# join A ADDRESS B ADDRESS: as a wire does, without packets of many segments, which are lost as one.
join() {
	local ns
	ns_link "$@"
	for ns in "$1" "$3"; do
		in_ns "$ns" ethtool -K "$link_dev" tso off gso off gro off >/dev/null || exit 1
	done
}

# network N: $here, $router, $there in a row.
network() {
	ns_make here
	ns_make router
	ns_make there
	join "$here" "10.94.$1.1/25" "$router" "10.94.$1.2/25"
	join "$there" "10.94.$1.129/25" "$router" "10.94.$1.130/25"
	in_ns "$router" sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
	ip -n "$here" route add default via "10.94.$1.2" && ip -n "$there" route add default via "10.94.$1.130" ||
		exit 1
	here_of[$1]=$here router_of[$1]=$router there_of[$1]=$there
}

# load NAMESPACE ROLE ADDRESS PORT: in the background, ready; its file: $room/ROLE-PORT.
load() {
	nsenter --net="/run/netns/$1" -- python3 "$live_dir/life-traffic.py" "${@:2}" >"$room/$2-$4" 2>/dev/null \
		</dev/null &
	note_process "$!"
	wait_for 20 grep -q ready "$room/$2-$4" || { diag "$2 on port $4 does not start"; exit 1; }
}

# firewall N RULE: of the router.
firewall() {
	in_ns "${router_of[$1]}" nft -f - <<-END
		table inet f
		delete table inet f
		table inet f {
			chain c {
				type filter hook forward priority 0
				$2
			}
		}
	END
}

for n in 1 2 3 4 5; do
	network $n
done
load "${there_of[1]}" sink 10.94.1.129 5101
load "${here_of[1]}" bursts 10.94.1.129 5101
load "${there_of[2]}" sink 10.94.2.129 5201
load "${here_of[2]}" stream 10.94.2.129 5201
in_ns "${here_of[3]}" sh -c 'echo 2 >/proc/sys/net/core/somaxconn'
load "${here_of[3]}" accept 10.94.3.1 5301
load "${there_of[3]}" crowd 10.94.3.1 5301
load "${there_of[4]}" names 10.94.4.129 53
load "${here_of[4]}" lookups 10.94.4.129 53
load "${there_of[5]}" echo 10.94.5.129 5501
load "${here_of[5]}" chat 10.94.5.129 5501

# 1: four ACKs in ten are lost, and no data. 2: half of everything, for 0.3 s of every 1.3 s.
firewall 1 "tcp sport 5101 numgen random mod 10 < 4 drop" || exit 1
(
	trap 'exit 0' TERM
	while :; do
		firewall 2 "tcp dport 5201 numgen random mod 2 == 0 drop"
		sleep 0.3
		firewall 2 ""
		sleep 1
	done
) >/dev/null 2>&1 </dev/null &
note_process "$!"
# Each has seen its fault several times before anybody looks.
wait_for 30 sh -c "test \$(grep -c late '$room/bursts-5101') -ge 5" || diag "no burst of 1 is late"
wait_for 30 sh -c "test \$(grep -c late '$room/lookups-53') -ge 2" || diag "no query of 4 is lost"
wait_for 30 sh -c "test \$(grep -c late '$room/crowd-5301') -ge 5" || diag "no connection of 3 is late"

look() {
	"$nest" diagnose -N "${here_of[$1]}" -d 3 --json --past none >"$room/verdict-$1" 2>"$room/errors-$1"
}

declare -A run_of
for n in 1 3 4 5; do
	look "$n" &
	run_of[$n]=$!
	note_process "${run_of[$n]}"
done
for n in 1 3 4 5; do
	wait "${run_of[$n]}"
done

# causes N: what the last line reports, strongest first.
causes() {
	tail -n 1 "$room/verdict-$1" | python3 -c 'import json, sys
print(" ".join(f["cause"] for f in json.loads(sys.stdin.readline())["findings"]))'
}

first() {
	causes "$1" | cut -d' ' -f1
}

# On a busy machine the sender itself may wait for a CPU in one run or another, and that is then the finding.
for _ in 1 2 3 4; do
	look 2
	[ "$(first 2)" != path-loss ] || break
done

# The backlog overflows when several clients come at once; after that all of them may rest until their next SYN.
for _ in 1 2 3 4 5; do
	[ "$(first 3)" != accept-queue-full ] || break
	look 3
done

is "$(first 1)" path-loss "lost ACKs are loss, not an outage"
is "$(first 2)" path-loss "loss in spells is loss"
is "$(first 3)" accept-queue-full "a backlog of 2 overflows"
is "$(first 4)" dns-slow "a name server that loses queries"
is "$(causes 5)" "" "keep-alive probes on an idle connection are no fault"
finish
