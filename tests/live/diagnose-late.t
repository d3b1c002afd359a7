#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A look that begins when the fault is already there, on small networks that share nothing: what the kernel remembers
# and what arrives must do, since there is no better time to compare with. The firewalls have no counters.
# timeout: 120
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3 nft

# network NAME: $here and $there, joined by a link; NAME is their third octet.
network() {
	ns_make here
	ns_make there
	ns_link "$here" "10.95.$1.1/24" "$there" "10.95.$1.2/24"
	here_of[$1]=$here there_of[$1]=$there
}

# load NAMESPACE ROLE ADDRESS PORT: in the background, ready; $bg_pid.
load() {
	nsenter --net="/run/netns/$1" -- python3 "$(dirname "$0")/late-load.py" "$2" "$3" "$4" >"$room/$2-$4" \
		2>/dev/null </dev/null &
	bg_pid=$!
	note_process "$bg_pid"
	wait_for 20 grep -q ready "$room/$2-$4" || { diag "$2 on port $4 does not start"; exit 1; }
}

declare -A here_of there_of
for n in 1 2 3 4 5 6 7 8; do
	network $n
done

# 1: what arrives is dropped on its way in. 2: what is sent is dropped on its way out. 6: nothing is wrong.
load "${here_of[1]}" sink 10.95.1.1 5001
load "${there_of[1]}" source 10.95.1.1 5001
load "${there_of[2]}" sink 10.95.2.2 5002
load "${here_of[2]}" source 10.95.2.2 5002
load "${there_of[6]}" sink 10.95.6.2 5006
load "${here_of[6]}" source 10.95.6.2 5006
# 3: connections are rejected here, in the name of the other.
in_ns "${here_of[3]}" nft -f - <<END
table inet f {
	chain out {
		type filter hook output priority 0;
		tcp dport 5003 reject with tcp reset
	}
}
END
load "${here_of[3]}" connect 10.95.3.2 5003
# 4: the sender is stopped in the middle of its transfer.
load "${there_of[4]}" sink 10.95.4.2 5004
load "${here_of[4]}" source 10.95.4.2 5004
stopped=$bg_pid
# 5: large packets vanish on the way from the beginning, and nobody says so: the other side takes none.
in_ns "${there_of[5]}" nft -f - <<END
table inet f {
	chain in {
		type filter hook prerouting priority -300;
		ip length > 1300 drop
	}
}
END
load "${there_of[5]}" sink 10.95.5.2 5005
load "${here_of[5]}" source 10.95.5.2 5005
# 7: a server that does something else while its clients wait.
load "${here_of[7]}" server 10.95.7.1 5007
load "${there_of[7]}" clients 10.95.7.1 5007
# 8: a routing rule forbids a service: connect() fails before a packet is sent.
in_ns "${here_of[8]}" ip rule add to 10.95.8.2 ipproto tcp dport 5008 prohibit
load "${here_of[8]}" connect 10.95.8.2 5008

sleep 2
ns_drop "${here_of[1]}" input 'tcp dport 5001'
ns_drop "${here_of[2]}" output 'tcp dport 5002'
# The process itself: nsenter runs it in its own place.
kill -STOP "$stopped"
sleep 1.2
for n in 1 2 3 4 5 6 7 8; do
	"$nest" diagnose -N "${here_of[$n]}" -d 5 --json >"$room/verdict-$n" 2>"$room/verdict-$n.err" &
	looks[n]=$!
	note_process "$!"
done
wait "${looks[@]}"

is "$(causes "$room/verdict-1" 2)" firewall-drop 'a rule without a counter that takes away what arrives'
like "$(cat "$room/verdict-1")" 'arrived at this host' 'with what arrived and was not delivered'
is "$(causes "$room/verdict-2" 2)" firewall-drop 'a rule without a counter that takes away what is sent'
is "$(causes "$room/verdict-3" 2)" firewall-reject 'a reset made on this host is not blamed on the peer'
is "$(causes "$room/verdict-4" 2)" app-not-sending 'a sender that was stopped before the first look'
is "$(causes "$room/verdict-5" 2)" path-mtu 'a path on which no large segment ever passed'
is "$(causes "$room/verdict-7" 2)" app-not-reading 'a server that leaves the requests of all clients unread'
is "$(causes "$room/verdict-8" 2)" route-blackhole 'a routing rule that forbids a service'
like "$(cat "$room/verdict-8")" 'port 5008: a route or routing rule refuses it .EACCES.' 'with the error of the lookup'
is "$(causes "$room/verdict-6" 2)" nothing 'and a healthy transfer has no culprit'
finish
