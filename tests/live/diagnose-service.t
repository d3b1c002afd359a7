#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Looks that begin long after a service became slow, or was never fast: there is no baseline. And services whose clients
# wait by design, which are silent. Each pair of namespaces is judged from both ends.
# vm: 150, timeout: 150
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3

cat >"$room/load.py" <<'END'
import socket, sys, threading, time
role, kind, address = sys.argv[1:4]
SLEEP = {"slow": 2, "short": 2, "long-poll": 20, "chat": 0, "idle": 0}

def serve(c):
    count = 0
    if kind == "pushes":
        c.recv(100)
        while True:
            c.sendall(b"news" * 20)
            time.sleep(0.7)
    while c.recv(65536):
        count += 1
        if kind == "mute":
            continue
        # Every tenth answer takes a second.
        time.sleep((1 if count % 10 == 0 else 0.005) if kind == "mixed" else SLEEP[kind])
        c.sendall(b"a" * 200)

def guarded(work, *arguments):
    try:
        work(*arguments)
    except OSError:
        pass

def ask(number):
    time.sleep(0.37 * number)
    c = None
    while True:
        c = c or socket.create_connection((address, 5000))
        c.sendall(b"q" * 100)
        if kind == "mute":
            c.settimeout(1)
        if kind == "pushes":
            while c.recv(1000):
                pass
        try:
            c.recv(1000)
        except socket.timeout:
            pass
        if kind in ("short", "mute"):
            c.close()
            c = None
        time.sleep({"chat": 1.5, "idle": 600, "mixed": 0.01}.get(kind, 0))

if role == "server":
    listener = socket.create_server((address, 5000), backlog=100)
    print("ready", flush=True)
    while True:
        threading.Thread(target=guarded, args=(serve, listener.accept()[0]), daemon=True).start()
for number in range(3):
    threading.Thread(target=guarded, args=(ask, number), daemon=True).start()
print("ready", flush=True)
time.sleep(600)
END

declare -A client_of server_of
count=0
# load KIND: three clients in one namespace, a server in another.
load() {
	local role at
	count=$((count + 1))
	ns_make client
	ns_make server
	ns_link "$client" "10.97.$count.1/24" "$server" "10.97.$count.2/24"
	client_of[$1]=$client server_of[$1]=$server
	for role in server client; do
		at=${!role}
		nsenter --net="/run/netns/$at" -- python3 "$room/load.py" "$role" "$1" "10.97.$count.2" \
			>"$room/$role-$1" 2>/dev/null </dev/null &
		note_process "$!"
		wait_for 20 grep -q ready "$room/$role-$1" || { diag "$role $1 does not start" && exit 1; }
	done
}

faults='slow short mute mixed' healthy='long-poll pushes idle chat' left_out=''
# Half of them are as much as an emulated machine can bear.
[ "$slower" -eq 1 ] || faults='slow mute' healthy='long-poll chat' left_out='short mixed pushes idle'
kinds="$faults $healthy"
for kind in $left_out; do
	skip "$kind" 'an emulated machine is too slow for all of them'
done
for kind in $kinds; do
	load "$kind"
done
sleep 4
# Two at a time: a look on a starved machine has few samples.
for kind in $kinds; do
	"$nest" diagnose -N "${client_of[$kind]}" -d 5 --json >"$room/$kind-client.json" 2>/dev/null &
	look=$!
	note_process "$look"
	"$nest" diagnose -N "${server_of[$kind]}" -d 5 --json >"$room/$kind-server.json" 2>/dev/null
	wait "$look"
done

for kind in $faults; do
	is "$(causes "$room/$kind-client.json" 2)" peer-slow "$kind: the service, seen from its clients"
	is "$(causes "$room/$kind-server.json" 2)" app-not-sending "$kind: the program, seen from its own host"
done
# On a machine where 5 seconds take 15, answers within one window differ enough to be compared with each other.
took_ms=$(sed -n 's/.*"window_ms":\([0-9]*\).*/\1/p' "$room/slow-client.json" | tail -1)
if [ "$took_ms" -lt 15000 ]; then
	like "$(cat "$room/slow-client.json")" 'answers after (1\.9|2\.)' 'with the answer time'
	like "$(cat "$room/slow-client.json")" 'no baseline' 'without a baseline, as it says'
else
	skip 'with the answer time, without a baseline' "a look of 5 s took $took_ms ms"
fi
like "$(cat "$room/mute-client.json")" 'answered none of [0-9]+ requests; their clients gave up after 1\.0' \
	'with the requests that were given up'
for kind in $healthy; do
	for role in client server; do
		is "$(causes "$room/$kind-$role.json" 2)" nothing "$kind is no fault, seen from the $role"
	done
done
finish
