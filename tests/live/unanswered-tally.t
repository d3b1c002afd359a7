#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The table of unanswered requests: its programs are loaded when a client waits, and the first such wait counts.
# vm: 15
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3

ns_make host
# ask REPLIES WAITS SECONDS: requests that are answered at once, then on a connection each such that the client gives
# up after SECONDS.
ask() {
	nsenter --net="/run/netns/$host" -- python3 - "$@" <<-'END'
		import socket, sys, threading, time
		replies, waits, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
		listener = socket.create_server(("127.0.0.1", 0))
		def serve(c):
		    while True:
		        data = c.recv(64)
		        if not data:
		            break
		        if data == b"ping":
		            c.sendall(b"pong")
		def accept():
		    while True:
		        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
		threading.Thread(target=accept, daemon=True).start()
		c = socket.create_connection(listener.getsockname())
		for _ in range(replies):
		    c.sendall(b"ping")
		    c.recv(64)
		    time.sleep(0.002)
		for _ in range(waits):
		    c = socket.create_connection(listener.getsockname())
		    c.sendall(b"mute")
		    time.sleep(seconds)
		    c.close()
	END
}

# programs: how many BPF programs the process that samples holds.
programs() {
	local sampler
	sampler=$(pgrep -P "$nest_pid" nest-sampler) || return 1
	find "/proc/$sampler/fd" -lname '*bpf-prog*' | wc -l
}
# has_more COUNT: it holds more than that.
has_more() {
	[ "$(programs)" -gt "$1" ]
}
# has_settled: it holds as many as a moment ago, and some.
has_settled() {
	local now
	now=$(programs) || return 1
	[ "$now" -gt 3 ] && pause 0.5 && [ "$now" -eq "$(programs)" ]
}

nest_bg watch -N "$host" --past none --save "$room/look.nest"
wait_ready "$nest_err" 60 || exit 1
wait_for 30 has_settled || skip_all 'no BPF programs here'
before=$(programs)
ask 300 0 0
# One may be that of probe/asking.h.
[ "$slower" -gt 1 ] || compare "$(programs)" -le $((before + 1)) 'requests that are answered load nothing'
ask 1 3 0.7
ok 'a client that waits does' wait_for 10 has_more $((before + 1))
pause 1
end_bg "$nest_pid"
total() {
	"$nest" tables unanswered -f "$room/look.nest" --json 2>/dev/null | python3 -c '
import json, sys
rows = {}
for line in sys.stdin:
    x = json.loads(line)
    if not x["serves"]:
        rows[x["service_port"], x["outcome"]] = x["requests"]
print(sum(rows.values()))'
}
is "$(total)" 3 'each of its waits counts, also the first'
finish
