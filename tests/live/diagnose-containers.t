#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 120
# A look at a host with containers: a program that is stopped inside is found, the host's suspicion of it is not
# reported, and neither the router of the host nor the hosts of a router are taken for containers.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3 ip

ns_make router
ns_make host
ns_make inner
ns_make far
ns_link "$router" 10.77.0.1/24 "$host" 10.77.0.2/24
ns_link "$router" 10.78.0.1/24 "$far" 10.78.0.2/24
ip -n "$host" route add default via 10.77.0.1 && ip -n "$far" route add default via 10.78.0.1 || exit 1
ip -n "$host" link add br0 type bridge && ip -n "$host" addr add 10.79.0.1/24 dev br0 &&
	ip -n "$host" link set br0 up && ip -n "$host" link add port type veth peer name eth0 netns "$inner" &&
	ip -n "$host" link set port master br0 up && ip -n "$inner" addr add 10.79.0.2/24 dev eth0 &&
	ip -n "$inner" link set eth0 up && ip -n "$inner" route add default via 10.79.0.1 || exit 1

# said FILE EXPRESSION: what a Python expression over the list of verdicts yields; v[-1] is the last one.
said() {
	python3 -c "import json, sys
v = [json.loads(line) for line in open(sys.argv[1])]
print($2)" "$1"
}

# inum NAMESPACE: its number.
inum() {
	stat -Lc %i "/run/netns/$1"
}

# places FILE: the namespaces of all modules, but for that of the verdict.
places() {
	said "$1" 'sorted({m["netns"] for m in v[-1]["modules"] if m["netns"]})'
}

# Namespaces without a process are nobody's containers.
for ns in "$router" "$far"; do
	bg nsenter --net="/run/netns/$ns" -- sleep 1000
done
bg nsenter --net="/run/netns/$inner" -- python3 -c '
import socket
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(("", 5001)); s.listen(5)
print("listening", flush=True)
c, _ = s.accept()
while c.recv(65536): pass' >"$room/server.out"
server_pid=$bg_pid
wait_for 10 grep -q listening "$room/server.out"
bg nsenter --net="/run/netns/$host" -- python3 -c '
import socket, time
s = socket.create_connection(("10.79.0.2", 5001)); data = b"x" * 16384
while True:
    s.sendall(data); time.sleep(0.005)'

in_ns "$host" "$nest" diagnose --json >"$room/healthy" 2>/dev/null
is "$(said "$room/healthy" 'len(v), v[-1]["netns"], v[-1]["healthy"]')" "1 $(inum "$host") True" \
	'a host and its container give one object, of the host'
is "$(places "$room/healthy")" "[$(inum "$inner")]" 'the container is looked into, the router of the host is not'
is "$(said "$room/healthy" '{m["netns_name"] for m in v[-1]["modules"] if m["netns"]}')" "{'$inner'}" \
	'its modules name it'
is "$(said "$room/healthy" 'len({m["id"] for m in v[-1]["modules"]}) == len(v[-1]["modules"])')" True \
	'no two modules have one id'
in_ns "$router" "$nest" diagnose --json -d 1 >"$room/router" 2>/dev/null
is "$(places "$room/router")" '[]' 'the hosts behind a router are no containers of it'
in_ns "$host" "$nest" diagnose --json -d 1 --no-containers >"$room/alone" 2>/dev/null
is "$(places "$room/alone")" '[]' '--no-containers looks at the host alone'

kill -STOP "$server_pid"
in_ns "$host" "$nest" diagnose --json --save "$room/stopped.nest" >"$room/stopped" 2>/dev/null
is "$(said "$room/stopped" '[(f["cause"], f["module"], f["netns_name"]) for f in v[-1]["findings"]]')" \
	"[('app-not-reading', 'app:$server_pid', '$inner')]" \
	'the stopped program inside is the only culprit: its host does not accuse a peer'
is "$(said "$room/stopped" 'all(" -N '"$inner"'" in n or " -p " in n for n in v[-1]["findings"][0]["next"])')" True \
	'next commands look into the container'
"$nest" diagnose -f "$room/stopped.nest" --json >"$room/again" 2>/dev/null
is "$(said "$room/again" 'v[-1]["netns"], [(f["cause"], f["netns_name"]) for f in v[-1]["findings"]]')" \
	"$(inum "$host") [('app-not-reading', '$inner')]" 'a recording gives the same verdict'
"$nest" diagnose -f "$room/stopped.nest" --json --no-containers >"$room/again" 2>/dev/null
is "$(said "$room/again" '[f["cause"] for f in v[-1]["findings"]]')" "['peer-not-reading']" \
	'the host alone knows only that its peer does not read'
in_ns "$host" "$nest" diagnose -d 1 >"$room/text" 2>/dev/null
like "$(head -n 2 "$room/text")" "app-not-reading .*in: network namespace $inner \($(inum "$inner")\)" \
	'the text names the namespace of the culprit'
in_ns "$host" "$nest" diagnose -d 1 -N all --json >"$room/all" 2>/dev/null
compare "$(said "$room/all" 'len({d["netns"] for d in v})')" -ge 4 '-N all still has a verdict for each namespace'

finish
