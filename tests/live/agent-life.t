#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 180
# runs beside others
# nest agent as a service: messages to the service manager, kill -9 and restart, what it learned across both, and what
# it sheds above --max-cpu.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3
require_cmd sqlite3
require_cmd curl

# The service manager: each datagram with its time.
cat >"$room/manager.py" <<'END'
import socket, sys, time
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print("ready", flush=True)
while True:
    for line in s.recv(4096).decode().splitlines():
        print(time.monotonic_ns(), line, flush=True)
END
# A server that takes 30 ms for each answer.
cat >"$room/exchange.py" <<'END'
import socket, threading, time
s = socket.create_server(("127.0.0.1", 5078))
def serve():
    c, _ = s.accept()
    while c.recv(1000):
        time.sleep(0.03)
        c.sendall(b"y" * 100)
threading.Thread(target=serve, daemon=True).start()
c = socket.create_connection(s.getsockname())
while True:
    c.sendall(b"x" * 50)
    c.recv(1000)
    time.sleep(0.05)
END
ns_make host
bg in_ns "$host" python3 "$room/exchange.py"
bg python3 "$room/manager.py" "$room/notify.sock" >"$room/messages"
wait_for 20 grep -q ready "$room/messages" || exit 1
messages() {
	grep -c " $1\$" "$room/messages"
}
start_agent() {
	NOTIFY_SOCKET=$room/notify.sock WATCHDOG_USEC=400000 nest_bg agent -N "$host" --store "$room/agent.nest" \
		--socket none --listen "unix:$room/agent.sock" "$@"
	agent=$nest_pid
	wait_ready "$nest_err"
}
sampled() {
	curl -s --max-time 20 --unix-socket "$room/agent.sock" http://localhost/metrics |
		awk '$1 == "nest_agent_samples_total" { print $2 }'
}
at_least() {
	[ "$("${@:2}")" -ge "$1" ]
}
stored() {
	sqlite3 "$room/agent.nest" 'SELECT count(*) FROM sample'
}
learned() {
	sqlite3 "$room/agent.nest" "SELECT coalesce(sum(count), 0) FROM usual WHERE figure = 'answer' AND name = '$1'"
}

# messages
start_agent
wait_for 20 at_least 1 messages READY=1
is "$(messages READY=1)" 1 'READY=1 after the first sample'
wait_for 20 at_least 3 messages WATCHDOG=1
ok 'WATCHDOG=1 goes on' at_least 3 messages WATCHDOG=1
kill -STOP "$agent"
# What was under way may still come.
pause 0.3
before=$(messages WATCHDOG=1)
pause 2
is "$(messages WATCHDOG=1)" "$before" 'an agent that does not run sends none'
kill -CONT "$agent"
wait_for 20 at_least $((before + 2)) messages WATCHDOG=1
ok 'and goes on when it runs' at_least $((before + 2)) messages WATCHDOG=1

# what is usual
wait_for 40 at_least 3 learned python3
names=$(sqlite3 "$room/agent.nest" "SELECT DISTINCT name FROM usual WHERE figure = 'answer'")
diag "learned: $(sqlite3 "$room/agent.nest" "SELECT of, figure, name, hour, count, p50, p95 FROM usual" | tr '\n' ' ')"
like "$names" python3 'the answer times of the program are learned'
compare "$(sqlite3 "$room/agent.nest" "SELECT min(p50) FROM usual WHERE figure = 'answer' AND name = 'python3'")" \
	-ge 20000000 'they are those of the server: 30 ms'
hour=$(date -u +%-H)
like "$(sqlite3 "$room/agent.nest" 'SELECT DISTINCT hour FROM usual')" "^($hour|$(((hour + 23) % 24)))" \
	'by hour of the day'

# kill -9
taken=$(sampled)
kill -KILL "$agent"
wait "$agent" 2>/dev/null
kept=$(stored)
diag "$taken samples taken, $kept kept"
# Five per second at most.
compare "$((taken - kept))" -le 5 'kill -9 loses a second at most'
was=$(learned python3)
start_agent
wait_for 20 at_least 2 messages READY=1
is "$(messages READY=1)" 2 'the agent that follows is ready as well'
wait_for 40 at_least $((was + 1)) learned python3
compare "$(learned python3)" -gt "$was" 'it goes on learning from where the first one was'
is "$(sqlite3 "$room/agent.nest" 'SELECT max(n) FROM (SELECT count(*) AS n FROM usual
	GROUP BY netns, of, figure, name, hour)')" 1 'one sketch per figure and hour'
compare "$(stored)" -gt "$kept" 'in the same recording'
end_bg "$agent"
is "$(messages STOPPING=1)" 1 'STOPPING=1 at the end, not of the one that was killed'

# A socket that nobody listens on is a mistake.
NOTIFY_SOCKET=relative "$nest" agent --store "$room/x.nest" --socket none -d 1 2>"$room/err"
compare "$?" -ne 0 'NOTIFY_SOCKET that is no path is refused'

# --max-cpu
start_agent --max-cpu 0.001%
wait_for 90 has_line "$nest_err" 'sheds 9 of 10 samples'
diag "$(grep sheds "$nest_err")"
like "$(tr '\n' ' ' <"$nest_err")" \
	'max-cpu 0.001 %: used [0-9.]+ %; sheds dense.*sheds most connections.*sheds the diagnosis.*sheds 9 of 10' \
	'--max-cpu sheds one step after the other, and says what'
steps() {
	curl -s --max-time 20 --unix-socket "$room/agent.sock" http://localhost/metrics |
		awk '$1 == "nest_agent_shed_steps" { print $2 }'
}
is "$(steps)" 4 'nest_agent_shed_steps counts them'
gaps() {
	sqlite3 "$room/agent.nest" "SELECT count(DISTINCT lost) FROM gap WHERE why LIKE '--max-cpu%'"
}
wait_for 40 at_least 4 gaps
is "$(gaps)" 4 'and table gap lists what is left out'
end_bg "$agent"
finish
