#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 120
# UDP requests without an answer or with a late one, and datagrams that expect none; namespaces of containers that a run
# on the host does not cover.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3

ns_make client
ns_make server
ns_link "$client" 10.78.0.1/24 "$server" 10.78.0.2/24

# found FILE: causes and modules of the last verdict, in alphabetical order.
found() {
	python3 -c 'import json, sys
last = [json.loads(line) for line in open(sys.argv[1])][-1]
print(*sorted(f["cause"] + "=" + f["module"] for f in last["findings"]))' "$1"
}

# Three services: one answers at once, one after a second, one never.
bg nsenter --net="/run/netns/$server" -- python3 -c '
import heapq, select, socket, time
sockets = {}
for port in 7001, 7002, 7003:
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("10.78.0.2", port))
    sockets[s] = port
print("ready", flush=True)
late = []
while True:
    wait = max(0, late[0][0] - time.monotonic()) if late else None
    for s in select.select(list(sockets), [], [], wait)[0]:
        data, peer = s.recvfrom(2000)
        if sockets[s] == 7001:
            s.sendto(data, peer)
        elif sockets[s] == 7002:
            heapq.heappush(late, (time.monotonic() + 1, data, peer))
    while late and late[0][0] <= time.monotonic():
        _, data, peer = heapq.heappop(late)
        next(s for s in sockets if sockets[s] == 7002).sendto(data, peer)' >"$room/server"
wait_for 10 grep -q ready "$room/server"

# ask HOW PORT: in the background, until ended. "wait" asks on one socket and waits, "repeat" does so in an event loop
# and repeats after 0.3 s, "sign" sends the same every 0.2 s, "figures" sends other ones; neither of these reads.
ask() {
	bg nsenter --net="/run/netns/$client" -- python3 -c '
import select, socket, sys, time
how, port = sys.argv[1], int(sys.argv[2])
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(("10.78.0.2", port))
print("ready", flush=True)
number = 0
while True:
    number += 1
    text = b"alive" if how == "sign" else b"request %d" % number
    s.send(text)
    print("sent", time.time_ns(), flush=True)
    if how == "wait":
        s.settimeout(1.5)
        try:
            s.recv(2000)
        except OSError:
            pass
        time.sleep(0.05)
    elif how == "repeat":
        loop = select.epoll()
        loop.register(s, select.EPOLLIN)
        for _ in range(3):
            if loop.poll(0.3):
                s.recv(2000)
                break
            s.send(text)
    else:
        time.sleep(0.2)' "$@" >"$room/ask-$1-$2"
	wait_for 10 grep -q ready "$room/ask-$1-$2"
}

# verdict NAME: of a run of 4 s on the client's side.
verdict() {
	in_ns "$client" "$nest" diagnose --json -d 4 --past none --save "$room/$1.nest" \
		>"$room/$1.json" 2>"$room/err" || diag "$(cat "$room/err")"
	found "$room/$1.json"
}

ask wait 7001
is "$(verdict quick)" '' 'a service that answers at once is healthy'
compare_counts() {
	"$nest" sql --json "$room/quick.nest" 'select max(requests) r, max(answers) a, min(first) b, max(first) e
		from datagram where rport = 7001' 2>>"$room/err" | python3 -c '
import json, sys
row = json.loads(sys.stdin.readline())
sent = [int(line.split()[1]) // 1000000 for line in open(sys.argv[1]) if line.startswith("sent")]
# The tap opened between the sample before the first row and that one.
most = sum(row["b"] - 600 <= t <= row["e"] + 50 for t in sent)
least = sum(row["b"] <= t <= row["e"] - 50 for t in sent)
print("# requests %d, answers %d; the client sent %d to %d" % (row["r"], row["a"], least, most))
sys.exit(not (row["r"] - row["a"] in (0, 1) and least <= row["r"] <= most and least >= 15))' "$room/ask-wait-7001"
}
ok 'as many requests and answers are counted as the client sent' compare_counts
end_bg "$bg_pid" TERM

ask wait 7003
is "$(verdict wait)" 'peer-slow=peer:10.78.0.2:7003' 'a program that waits for an answer'
end_bg "$bg_pid" TERM

ask repeat 7003
is "$(verdict repeat)" 'peer-slow=peer:10.78.0.2:7003' 'one that repeats its request in an event loop'
end_bg "$bg_pid" TERM

ask wait 7002
is "$(verdict late)" 'peer-slow=peer:10.78.0.2:7002' 'an answer after a second'
like "$(cat "$room/late.json")" 'port 7002 \(UDP\) answers after 1\.[0-9]+ s' 'and how long it took'
end_bg "$bg_pid" TERM

ask sign 7003
ask figures 7003
is "$(verdict oneway)" '' 'signs of life and figures expect no answer'

# --- containers ------------------------------------------------------------------------------------------------------

# on_host COMMAND ...: in the namespace of the kernel's threads, as a host has it.
on_host() {
	nsenter --net=/proc/2/ns/net -- "$@"
}

not_seen() {
	python3 -c 'import json, sys
last = json.loads(sys.stdin.readlines()[-1])
print(*(u["lost"] + " (" + u["why"] + ")" for u in last["not_seen"] if u["what"] == "netns"))'
}

like "$(on_host "$nest" diagnose --json -d 1 --past none 2>>"$room/err" | not_seen)" \
	'connections in [0-9]+ other network namespaces? \(with .* \([0-9]+\).*nest diagnose -N all\)' \
	'the host says which namespaces it did not look at'
is "$(in_ns "$client" "$nest" diagnose --json -d 1 --past none 2>>"$room/err" | not_seen)" '' \
	'a namespace says nothing of others'

finish
