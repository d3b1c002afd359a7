#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Connections that become quiet while somebody looks: some have nothing more to say, others have lost their way, and
# some wait for an answer. Small networks that share nothing.
# timeout: 120
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3 nft tcpdump tshark

cat >"$room/load.py" <<'END'
import os, socket, sys, time
role, address, port, mark = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
changed = lambda: os.path.exists(mark)
def ready():
    print("ready", flush=True)
if role == "stream":
    s = socket.create_server((address, port), family=socket.AF_INET6 if ":" in address else socket.AF_INET)
    ready()
    c, _ = s.accept()
    while not changed():
        c.sendall(b"x" * 10000)
        time.sleep(0.01)
    time.sleep(60)
elif role == "endless":
    s = socket.create_server((address, port))
    ready()
    c, _ = s.accept()
    while True:
        c.sendall(b"x" * 10000)
        time.sleep(0.01)
elif role == "fetch":
    s = socket.create_connection((address, port))
    ready()
    while s.recv(65536):
        pass
elif role in ("answer", "think"):
    s = socket.create_server((address, port))
    ready()
    c, _ = s.accept()
    while c.recv(100):
        if role == "think" and changed():
            time.sleep(0.4)
        c.sendall(b"y" * 64)
else:
    s = socket.create_connection((address, port))
    ready()
    while True:
        s.sendall(b"x" * 64)
        s.recv(100)
        time.sleep(0.01 if role == "ask" or not changed() else 30)
END

# network NAME: $here and $there, joined by a link; NAME is their third octet.
network() {
	ns_make here
	ns_make there
	ns_link "$here" "10.96.$1.1/24" "$there" "10.96.$1.2/24"
	here_of[$1]=$here there_of[$1]=$there
}

# load NAMESPACE ROLE ADDRESS PORT: in the background, ready. What it does changes when the file "changed" is there.
load() {
	nsenter --net="/run/netns/$1" -- \
		python3 "$room/load.py" "$2" "$3" "$4" "$room/changed" >"$room/$2-$4" 2>/dev/null </dev/null &
	note_process "$!"
	wait_for 20 grep -q ready "$room/$2-$4" || { diag "$2 on port $4 does not start"; exit 1; }
}

# look NAME [OPTION ...]: begins a diagnosis in a network.
look() {
	local n=$1
	shift
	"$nest" diagnose -N "${here_of[$n]}" -d 11 --json "$@" >"$room/verdict-$n" 2>"$room/verdict-$n.err" &
	looks[n]=$!
	note_process "$!"
	wait_for 30 grep -q 'nest: ready' "$room/verdict-$n.err" || { diag "no diagnosis in network $n"; exit 1; }
}

# capture NAME: what goes through the link of a network, in capture-NAME.pcap.
capture() {
	nsenter --net="/run/netns/${here_of[$1]}" -- tcpdump -i any -U -w "$room/capture-$1.pcap" -s 96 tcp \
		>"$room/capture-$1.log" 2>&1 </dev/null &
	captures[$1]=$!
	note_process "$!"
	wait_for 20 grep -q 'listening on' "$room/capture-$1.log" || { diag "no capture in network $1"; exit 1; }
}

# questions NAME: how many segments of this host an independent judge takes for keep-alives.
questions() {
	tshark -r "$room/capture-$1.pcap" -Y 'tcp.analysis.keep_alive' -T fields -e tcp.seq 2>/dev/null | wc -l
}

declare -A here_of there_of looks captures
for n in 1 2 3 4 5 6 7; do
	network $n
done

# 8: there is a router on the way, which starts to drop large packets silently.
ns_make here
ns_make middle
ns_make there
ns_link "$here" 10.96.8.1/24 "$middle" 10.96.8.2/24
ns_link "$middle" 10.96.9.1/24 "$there" 10.96.9.2/24
in_ns "$here" ip route add 10.96.9.0/24 via 10.96.8.2
in_ns "$there" ip route add 10.96.8.0/24 via 10.96.9.1
in_ns "$middle" sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
here_of[8]=$here there_of[8]=$there
load "${there_of[8]}" endless 10.96.9.2 6008
load "${here_of[8]}" fetch 10.96.9.2 6008
# 1: a stream that ends (over IPv6). 2: one whose path dies. 3: one whose acknowledgements this host
# drops. 7: as 1, and nobody asks.
in_ns "${here_of[1]}" \
	sh -c 'ip -6 addr add fd96::1/64 dev "$(ip -o link show type veth | sed "s/.*: \(.*\)@.*/\1/")" nodad'
in_ns "${there_of[1]}" \
	sh -c 'ip -6 addr add fd96::2/64 dev "$(ip -o link show type veth | sed "s/.*: \(.*\)@.*/\1/")" nodad'
load "${there_of[1]}" stream fd96::2 6001
load "${here_of[1]}" fetch fd96::2 6001
load "${there_of[2]}" endless 10.96.2.2 6002
load "${here_of[2]}" fetch 10.96.2.2 6002
load "${there_of[3]}" endless 10.96.3.2 6003
load "${here_of[3]}" fetch 10.96.3.2 6003
load "${there_of[7]}" stream 10.96.7.2 6007
load "${here_of[7]}" fetch 10.96.7.2 6007
# 4: a client that stops asking. 5: a peer that begins to think. 6: a server here that does.
load "${there_of[4]}" answer 10.96.4.2 6004
load "${here_of[4]}" pause 10.96.4.2 6004
load "${there_of[5]}" think 10.96.5.2 6005
load "${here_of[5]}" ask 10.96.5.2 6005
load "${here_of[6]}" think 10.96.6.1 6006
load "${there_of[6]}" ask 10.96.6.1 6006

capture 1
capture 7
for n in 1 2 3 4 5 6 8; do
	look $n
done
look 7 --passive
sleep 4
touch "$room/changed"
ns_drop "${there_of[2]}" output 'tcp sport 6002'
ns_drop "${here_of[3]}" output 'tcp dport 6003'
ns_drop "$middle" forward 'ip length > 1300'
wait "${looks[@]}"
for n in 1 7; do
	kill -INT "${captures[$n]}"
	wait "${captures[$n]}"
done

is "$(causes "$room/verdict-1" 3)" nothing 'a stream that ended has no culprit'
like "$(questions 1)" '^[1-9]$' 'its peer was asked by segments that tshark takes for keep-alives'
is "$(tshark -r "$room/capture-1.pcap" -Y tcp.analysis.keep_alive_ack -T fields -e tcp.seq 2>/dev/null | wc -l)" \
	"$(questions 1)" 'and answered each'
is "$(tshark -r "$room/capture-1.pcap" -Y 'tcp.flags.reset == 1' 2>/dev/null | wc -l)" \
	0 'without harm to the connection'
is "$(causes "$room/verdict-2" 3)" path-blackhole 'a stream whose path died'
like "$(cat "$room/verdict-2")" 'did not answer [0-9a]* keep-alive probe' 'because its peer does not answer'
is "$(causes "$room/verdict-3" 3)" firewall-drop 'a stream whose acknowledgements this host drops'
is "$(causes "$room/verdict-4" 3)" nothing 'a client that stopped asking has no slow peer'
is "$(causes "$room/verdict-5" 3)" peer-slow 'a peer that takes its time'
is "$(causes "$room/verdict-6" 3)" app-not-sending 'a server of this host that takes its time'
is "$(causes "$room/verdict-7" 3)" nothing 'nothing is said where nobody may be asked'
is "$(questions 7)" 0 'and nobody was asked'
is "$(causes "$room/verdict-8" 3)" path-mtu 'a path that drops large packets, seen by the receiver'
finish
