#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Calls by kprobes (as on arm64 before 6.4): those that are more at a time than the kernel follows to their return are
# counted.
# vm: 50
export NEST_HOOKS_WITHOUT=fentry,fexit,tp_btf/sock_send_length,tp_btf/sock_recv_length
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3
"$nest" events sock.recv --json | grep -q '"available":true' || {
	skip 'calls that the kernel does not follow' "$("$nest" events sock.recv --json |
		sed -nE 's/.*"reason":"([^"]*)".*/\1/p' | head -n 1)"
	finish
}

cat >"$room/readers.py" <<'END'
"""So many threads blocked in recv() at the same time, each so many times; prints its pid."""
import os, socket, sys, threading, time

threads, rounds = map(int, sys.argv[1:])
listener = socket.create_server(("127.0.0.1", 0), backlog=threads)
near = [socket.create_connection(listener.getsockname()) for _ in range(threads)]
far = [listener.accept()[0] for _ in range(threads)]
about = threading.Barrier(threads + 1)


def read(connection):
    for _ in range(rounds):
        about.wait()
        connection.recv(10)
        about.wait()


for connection in far:
    threading.Thread(target=read, args=(connection,)).start()
for _ in range(rounds):
    about.wait()
    # Until they sleep in the call: nothing tells that from outside but that nobody runs.
    while sum(open(f"/proc/self/task/{tid}/stat").read().rsplit(")", 1)[1].split()[0] == "S"
              for tid in os.listdir("/proc/self/task")) < threads:
        time.sleep(0.1)
    for connection in near:
        connection.send(b"x")
    about.wait()
print(os.getpid())
END

# counted EVENT THREADS ROUNDS: calls reported, and lost by the closing line.
counted() {
	local pid event=$1
	shift
	pid=$("$nest" trace "$event" --json -o "$room/rows" -- python3 "$room/readers.py" "$@" 2>"$room/err")
	case $event in
	sock.recv) reported=$(figures "$room/rows" "sum(1 for e in r if e['pid'] == $pid and e['bytes'] == 1)") ;;
	sock.close) reported=$(figures "$room/rows" \
		"sum(e['receives'] for e in r if e['pid'] == $pid and e['rx_bytes'])") ;;
	esac
	lost=$(sed -nE 's/^nest: [0-9]+ events, ([0-9]+) lost.*/\1/p' "$room/err")
	diag "$event: $1 threads, $2 rounds: $reported reported, $(tail -n 1 "$room/err")"
}
for event in sock.recv sock.close; do
	counted "$event" 5 4
	is "$reported $lost" '20 0' "$event: few calls at a time: each is reported"
	counted "$event" 60 2
	compare "$reported" -lt 120 "$event: many at a time: not each is reported"
	is $((reported + lost)) 120 'and every other one is counted as lost'
done
finish
