#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 200
# What is left of the privilege of every command when it shows its first result: a library that is loaded into it tries
# from inside (confine-inside.c), and /proc/PID/status is read from outside.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd gcc python3 tcpdump

ok 'the library is built' gcc -O1 -shared -fPIC -o "$room/inside.so" "$live_dir/confine-inside.c" || { finish; exit; }
ns_make host
gcc -O1 -D_GNU_SOURCE -finstrument-functions -pthread -Wno-infinite-recursion -o "$room/target" \
	"$live_dir/flow-target.c" -ldl
cd "$room" || exit 1
in_ns "$host" "$nest" record -o a.nest -d 3 tcp.close diagnose 2>/dev/null
"$nest" flow record -o a.trace -- "$room/target" 2>/dev/null >/dev/null
[ -s a.trace ] || "$nest" flow record -o a.trace -- true 2>/dev/null
for name in path interrupted; do
	gzip -dc "$root_dir/tests/golden/input/$name.nest.gz" >"$name.nest"
done
printf '<4>[    1.000000] BUG: kernel NULL pointer dereference, address: 0000000000000010\n' >log
timeout 10 tcpdump -i lo -c 1 -w a.pcap >/dev/null 2>&1 &
wait_for 5 test -e a.pcap
python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", 9))'
wait $!

# inside COMMAND ...: what the library reports.
inside() {
	rm -f "$room/inside.log"
	timeout 60 env INSIDE_LOG="$room/inside.log" LD_PRELOAD="$room/inside.so" "$nest" "$@" \
		>"$room/out" 2>"$room/err"
	cat "$room/inside.log" 2>/dev/null || { echo 'no result was written'; cat "$room/err"; }
}

# Readers of files: nothing is left.
while read -r command; do
	# shellcheck disable=SC2086 # words
	is "$(inside $command)" 'cap=0 nnp=1 seccomp=2 allowed=' "$command"
done <<'END'
diagnose -f a.nest
watch -f a.nest
sockets -f a.nest
counters -f a.nest
links -f a.nest
routes -f interrupted.nest --used
limits -f a.nest
tables process -f a.nest
stalls -f interrupted.nest
checklist -f a.nest
trace tcp.close -f a.nest
tcplife -f a.nest
path -f path.nest
report a.nest
report a.pcap
sql a.nest --schema
export a.nest --format jsonl
flow info a.trace
flow sessions a.trace
flow tree a.trace
flow summary a.trace --by thread
flow export a.trace --dot
oops log
oops -f a.nest
END
is "$("$nest" doctor --json >d.json 2>/dev/null; inside doctor -f d.json)" 'cap=0 nnp=1 seccomp=2 allowed=' 'doctor -f'

# The live host: what each needs once everything is attached.
traffic() {
	for _ in 1 2 3; do
		in_ns "$host" python3 -c 'import socket; socket.socket().connect_ex(("127.0.0.1", 9))'
	done
}
while IFS='|' read -r want command; do
	# shellcheck disable=SC2086 # words
	inside $command >"$room/said" &
	job=$!
	[[ $command != *-d* ]] || { wait_for 20 grep -q ready "$room/err" && traffic; }
	wait "$job"
	like "$(cat "$room/said")" "$want" "live: $command"
done <<'END'
^cap=0 nnp=1 seccomp=2 allowed=$|sockets
^cap=0 nnp=1 seccomp=2 allowed=$|links
^cap=0 nnp=1 seccomp=2 allowed=$|tables process
^cap=0 nnp=1 seccomp=2 allowed=$|trace tcp.state -d 2
^cap=0 nnp=1 seccomp=2 allowed=$|tcpstates -d 2
^cap=8000000000 nnp=1 seccomp=2 allowed=$|trace tcp.state --count --by newstate -d 2
^cap=0 nnp=1 seccomp=2 allowed=$|hardware
END

# From outside, while they run.
status() {
	awk '$1 == "CapEff:" { cap = $2 } $1 == "NoNewPrivs:" { nnp = $2 } $1 == "Seccomp:" { mode = $2 }
		END { print cap, nnp, mode }' "/proc/$1/status"
}
nest_bg tcplife -o "$room/life.txt"
wait_ready "$nest_err"
is "$(status "$nest_pid")" '0000000000000000 1 2' 'a tool'
kill "$nest_pid"
# CAP_BPF, PERFMON, NET_ADMIN, NET_RAW, SYS_PTRACE, DAC_READ_SEARCH, SYSLOG
for command in 'watch' "record -o $room/b.nest" 'diagnose -d 20'; do
	# shellcheck disable=SC2086 # words
	nest_bg $command
	wait_ready "$nest_err"
	is "$(status "$nest_pid")" '000000c400083004 1 2' "$command"
	kill "$nest_pid"
done

# What runs behind -- is as free as before.
"$nest" trace tcp.state -- grep -E '^(CapEff|NoNewPrivs|Seccomp):' /proc/self/status >"$room/out" 2>/dev/null
is "$(awk '/^(CapEff|NoNewPrivs|Seccomp):/ { print $2 }' "$room/out" | tr '\n' ' ')" \
	"$(awk '/^(CapEff|NoNewPrivs|Seccomp):/ { print $2 }' /proc/self/status | tr '\n' ' ')" 'the command behind --'
is "$("$nest" flow record -o "$room/c.trace" -- grep -c '^NoNewPrivs:.0' /proc/self/status 2>/dev/null)" 1 \
	'the program of flow record'

# Root reads files of other users: one capability stays, and Landlock limits it to their directory.
chown 65534 a.nest
is "$(inside sockets -f a.nest)" 'cap=4 nnp=1 seccomp=2 allowed=' 'a recording of another user'

finish
