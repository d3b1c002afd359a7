#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 90
# What only the wire tells: services that refuse and reset, and name servers that are late or dead, over IPv4 and IPv6.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3

ns_make client
ns_make server
ns_link "$client" 10.77.0.1/24 "$server" 10.77.0.2/24
for side in "$client" "$server"; do
	in_ns "$side" sysctl -qw net.ipv6.conf.all.disable_ipv6=0 net.ipv6.conf.default.disable_ipv6=0
done
dev=$(in_ns "$client" ip -o -4 addr show | awk '/10\.77\.0\.1/ {print $2}')
in_ns "$client" ip addr add fd77::1/64 dev "$dev" nodad
dev=$(in_ns "$server" ip -o -4 addr show | awk '/10\.77\.0\.2/ {print $2}')
in_ns "$server" ip addr add fd77::2/64 dev "$dev" nodad

# found FILE: causes and modules of the last verdict, in alphabetical order.
found() {
	python3 -c 'import json, sys
last = [json.loads(line) for line in open(sys.argv[1])][-1]
print(*sorted(f["cause"] + "=" + f["module"] for f in last["findings"]))' "$1"
}

# Somebody who keeps trying: argument 1 says what.
try() {
	bg nsenter --net="/run/netns/$client" -- python3 -c '
import socket, struct, sys, time
what, address, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
query = b"\x12\x34\x01\x00\x00\x01" + bytes(6) + b"\x04nest\x04test\x00\x00\x01\x00\x01"
family = socket.AF_INET6 if ":" in address else socket.AF_INET
while True:
    s = socket.socket(family, socket.SOCK_DGRAM if what == "ask" else socket.SOCK_STREAM)
    s.settimeout(2)
    try:
        s.connect((address, port))
        s.send(query if what == "ask" else b"hello")
        s.recv(100)
    except OSError:
        pass
    s.close()
    time.sleep(0.1)' "$@"
}

# A server that resets whoever says something, and a name server that takes its time.
bg nsenter --net="/run/netns/$server" -- python3 -c '
import socket, struct
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(("", 5001)); s.listen(5)
print("listening", flush=True)
while True:
    c, _ = s.accept(); c.recv(100)
    c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)); c.close()' >"$room/server.out"
bg nsenter --net="/run/netns/$server" -- python3 -c '
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("10.77.0.2", 53))
print("listening", flush=True)
while True:
    data, who = s.recvfrom(512); time.sleep(0.4)
    s.sendto(data[:2] + b"\x81\x80" + data[4:], who)' >"$room/resolver.out"
wait_for 10 grep -q listening "$room/server.out"
wait_for 10 grep -q listening "$room/resolver.out"

"$nest" diagnose -N "$client" --json >"$room/before" 2>/dev/null
is "$(found "$room/before")" '' 'nobody asks, nobody is blamed'

try connect 10.77.0.2 5002
try connect fd77::2 5003
try connect 10.77.0.2 5001
try ask 10.77.0.2 53
try ask fd77::2 53
"$nest" diagnose -N "$client" --json -d 4 >"$room/after" 2>"$room/err"
is "$?" 0 'a look from outside the namespace succeeds'
is "$(found "$room/after")" \
	"dns-dead=resolver:fd77::2 dns-slow=resolver:10.77.0.2 peer-refused=peer:10.77.0.2:5002 \
peer-refused=peer:[fd77::2]:5003 peer-reset=peer:10.77.0.2:5001" \
	'refusals, resets and lookups are distinguished, for both families'
like "$(tail -n 1 "$room/err")" ', 0 lost' 'nothing was lost'

# Whoever may not open a packet socket does not guess.
in_ns "$client" setpriv --bounding-set -net_raw --inh-caps -net_raw "$nest" diagnose --json >"$room/less" 2>/dev/null
is "$?" 0 'a look without CAP_NET_RAW succeeds'
is "$(found "$room/less")" '' 'and nobody is blamed'
finish
