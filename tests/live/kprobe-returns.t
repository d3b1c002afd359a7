#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# sock.recv by kprobes (arm64 before 6.4): more calls at a time than the kernel follows to their return are counted.
# vm: 30
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3
like "$("$nest" events sock.recv --json)" '"available":true' 'sock.recv is available'
"$nest" events sock.recv --json | grep -q '"hook":"[^"]*kretprobe' || {
	skip 'calls that the kernel does not follow' 'sock.recv has a hook that follows every call here'
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

# counted THREADS ROUNDS: calls reported, and lost by the closing line.
counted() {
	local pid
	pid=$("$nest" trace sock.recv --json -o "$room/rows" -- python3 "$room/readers.py" "$@" 2>"$room/err")
	reported=$(figures "$room/rows" "sum(1 for e in r if e['pid'] == $pid and e['bytes'] == 1)")
	lost=$(sed -nE 's/^nest: [0-9]+ events, ([0-9]+) lost.*/\1/p' "$room/err")
	diag "$1 threads, $2 rounds: $reported reported, $(tail -n 1 "$room/err")"
}
counted 5 4
is "$reported $lost" '20 0' 'few calls at a time: each is reported'
counted 60 2
compare "$reported" -lt 120 'many at a time: not each is reported'
is $((reported + lost)) 120 'and every other one is counted as lost'
finish
