#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 300
# runs beside others
# What is left of the privilege of every command when it shows its first result: a library that is loaded into it tries
# from inside (confine-inside.c), and /proc/PID/status is read from outside.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd gcc python3 tcpdump curl

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

# A file of root that is no concern of any command.
export INSIDE_VICTIM=$room/victim
(umask 077 && : >"$INSIDE_VICTIM")
# One in the directory of temporary files.
export TMPDIR=$room/shared INSIDE_SHARED=$room/shared/other
mkdir "$TMPDIR"
: >"$INSIDE_SHARED"

# inside COMMAND ...: what the library reports. serves: the same when it first waits for events.
inside() {
	rm -f "$room/inside.log"
	timeout 60 env INSIDE_LOG="$room/inside.log" LD_PRELOAD="$room/inside.so" "$nest" "$@" \
		>"$room/out" 2>"$room/err"
	if [ -s "$room/inside.log" ]; then cat "$room/inside.log"; else echo 'nothing was tried'; cat "$room/err"; fi
}
serves() {
	INSIDE_LOOP=1 inside "$@"
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
flow compare a.trace --by thread
export a.nest --format perfetto
diagnose -f a.nest -f a.nest
report a.nest --compare a.nest
demo lossy-path
oops log
oops -f a.nest
END
is "$("$nest" doctor --json >d.json 2>/dev/null; inside doctor -f d.json)" 'cap=0 nnp=1 seccomp=2 allowed=' 'doctor -f'

# CAP_BPF, PERFMON, NET_ADMIN, NET_RAW, SYS_PTRACE, DAC_READ_SEARCH, SYSLOG
observing=c400083004
(umask 077 && printf '0123456789abcdef\n' >"$room/token")

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
^cap=0 nnp=1 seccomp=2 allowed=$|diagnose -d 1
^cap=0 nnp=1 seccomp=2 allowed=$|checklist
^cap=0 nnp=1 seccomp=2 allowed=$|sockets 1 2
^cap=0 nnp=1 seccomp=2 allowed=$|tools
^cap=0 nnp=1 seccomp=2 allowed=$|events
^cap=0 nnp=1 seccomp=2 allowed=$|doctor
END

# Samples come from a process of their own: it observes, and can neither run a program nor change a file.
rm -f "$room/inside.log"
timeout 60 env INSIDE_SAMPLER=1 INSIDE_LOG="$room/inside.log" LD_PRELOAD="$room/inside.so" "$nest" diagnose -d 1 \
	>/dev/null 2>&1
is "$(cat "$room/inside.log")" "cap=$observing nnp=1 seccomp=2 allowed=socket,packet,setns,load,shadow,kill" \
	'the process that samples, from inside'

# From outside, while they run: every process of a command, one line each.
family() {
	local child
	[ -e "/proc/$1/status" ] || return
	awk '$1 == "Name:" { name = $2 } $1 == "CapEff:" { cap = $2 } $1 == "NoNewPrivs:" { nnp = $2 }
		$1 == "Seccomp:" { mode = $2 } END { print name, cap, nnp, mode }' "/proc/$1/status"
	for child in $(cat "/proc/$1/task/"*/children 2>/dev/null); do
		family "$child"
	done
}
everybody() {
	family "$1" | sort | tr '\n' ';'
}
nothing='nest 0000000000000000 1 2;'
# shellcheck disable=SC2034 # by its name, below
sampler="nest-sampler $(printf '%016x' "0x$observing") 1 2;"
elsewhere="nest-sampler $(printf '%016x' $((0x$observing | 1 << 21))) 1 2;"
all=$(awk '$1 == "CapEff:" { print $2 }' /proc/self/status)
nest_bg tcplife -o "$room/life.txt"
wait_ready "$nest_err"
is "$(everybody "$nest_pid")" "$nothing" 'a tool'
kill "$nest_pid"
while IFS='|' read -r more command; do
	# shellcheck disable=SC2086 # words
	nest_bg $command
	wait_ready "$nest_err"
	is "$(everybody "$nest_pid")" "$nothing${!more}" "$command"
	kill "$nest_pid"
	wait "$nest_pid"
done <<END
sampler|watch
elsewhere|watch -N $host
sampler|record -o $room/b.nest
sampler|record -o $room/e.nest diagnose tcp.close
sampler|diagnose -d 20
sampler|stalls
END

# What ships a recording parses it and answers of the network; this server never answers.
python3 -c '
import socket, sys, time
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
time.sleep(60)' >"$room/mute" &
mute=$!
note_process "$mute"
wait_for 20 test -s "$room/mute"
"$nest" ship a.nest --ship "http://127.0.0.1:$(cat "$room/mute")/x" 2>/dev/null &
ship=$!
note_process "$ship"
shipping() {
	[ "$(everybody "$ship")" = "$nothing" ]
}
ok 'ship' wait_for 20 shipping || diag "$(everybody "$ship")"
kill "$ship" "$mute"

# Servers: what starts tools for them is the only process that keeps what nest was started with.
starter="nest-starter $all 0 0;"
is "$(serves serve -d 1)" 'cap=0 nnp=1 seccomp=2 allowed=socket' 'serve, from inside'
is "$(serves serve -d 1 -f a.nest)" 'cap=0 nnp=1 seccomp=2 allowed=socket' 'serve -f, from inside'
mkdir "$room/past"
is "$(serves agent -d 1 -N "$host" -o "$room/past/in.nest" --socket none --listen 127.0.0.1:0)" \
	'cap=0 nnp=1 seccomp=2 allowed=socket' 'agent, from inside'
mkdir "$room/saved"
is "$(INSIDE_FILE=$room/saved/more serves serve -d 1 --save-in "$room/saved")" \
	'cap=0 nnp=1 seccomp=2 allowed=socket' 'serve --save-in, from inside: others write there'
nest_bg serve -N "$host" --save-in "$room/saved"
wait_for 30 test -s "$nest_out"
is "$(everybody "$nest_pid")" "$nothing$elsewhere$elsewhere$starter" 'serve'
url=$(sed 's/#.*//' "$nest_out") token=$(sed -n 's/.*#token=//p' "$nest_out")
ask() {
	curl -s -m 30 -H "Authorization: Bearer $token" "$@"
}
ask -N "${url}api/v1/stream?what=tcpstates" >"$room/stream" &
reader=$!
started() {
	family "$nest_pid" | grep -q '^nest-minder' && traffic && grep -q newstate "$room/stream"
}
ok 'a tool that a client starts observes' wait_for 30 started
minder="nest-minder ${nothing#nest }"
is "$(everybody "$nest_pid")" "exe ${nothing#nest }$nothing$minder$elsewhere$elsewhere$starter" \
	'and has given up the same'
run=$(ask "${url}api/v1/runs" | from_json 'j["rows"][0]["id"]')
# change ARGUMENT ...: asks for a change of the recording of that run, prints the status.
change() {
	ask -o /dev/null -w '%{http_code}' -H "Origin: ${url%/}" "$@" "${url}api/v1/runs/$run/recording"
}
is "$(change -d '{"name":"kept"}')" 201 'it is saved'
saved() {
	traffic
	"$nest" sql "$room/saved/kept.nest" 'SELECT count(*) > 0 AS n FROM tcp_state' --json 2>/dev/null |
		grep -q '"n":1'
}
ok 'by a process that observes' wait_for 40 saved
is "$(everybody "$nest_pid")" \
	"exe ${nothing#nest }exe ${nothing#nest }$nothing$minder$minder$elsewhere$elsewhere$starter" \
	'and has given up the same as well'
is "$(change -X DELETE)" 204 'the recording is ended'
whole() {
	[ ! -e "$room/saved/kept.nest-wal" ] && [ "$(family "$nest_pid" | grep -c ^exe)" = 1 ]
}
ok 'by a signal: it is whole, the tool goes on' wait_for 20 whole
kill "$reader"
is "$(ask "${url}api/v1/tools" | from_json 'len([r for r in j["rows"] if r["available"]]) > 20')" True \
	'what is available was tried with privilege'
kill "$nest_pid"
wait "$nest_pid"
nest_bg agent -N "$host" -o "$room/agent.nest" --socket "$room/agent.sock"
wait_ready "$nest_err"
is "$(everybody "$nest_pid")" "$nothing$elsewhere$starter" 'agent'
kill "$nest_pid"
wait "$nest_pid"
is "$(test -e "$room/agent.sock"; echo $?)" 1 'its socket is removed'
nest_bg collect --listen 127.0.0.1:0 --ship http://127.0.0.1:9/x --spool "$room/spool" --token-file "$room/token"
wait_ready "$nest_err"
is "$(everybody "$nest_pid")" "$nothing" 'collect'
kill "$nest_pid"
# A terminal for the screen.
python3 -c '
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
open(sys.argv[1], "w").write(str(pid))
while True:
    try:
        if not os.read(fd, 65536): break
    except OSError: break
os.waitpid(pid, 0)' "$room/top.pid" env TERM=xterm XDG_CONFIG_HOME="$room/config" "$nest" top -N "$host" &
screen=$!
note_process "$screen"
wait_for 20 test -s "$room/top.pid"
top=$(cat "$room/top.pid")
note_process "$top"
settled() {
	[ "$(everybody "$top")" = "$nothing$elsewhere$elsewhere$starter" ]
}
ok 'top' wait_for 20 settled || diag "$(everybody "$top")"
kill "$top"
wait "$screen"

# kill -9: nobody stays behind.
nest_bg watch -N "$host"
wait_ready "$nest_err"
left=$(cat "/proc/$nest_pid/task/"*/children)
kill -9 "$nest_pid"
ended() {
	! kill -0 $left 2>/dev/null
}
ok 'kill -9 ends the process that samples' wait_for 10 ended

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
