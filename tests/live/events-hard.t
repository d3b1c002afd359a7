#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Events under bad conditions: servers that hand their sockets on, full maps, hostile names, processes and namespaces
# that go away, kernels and users that lack something; and the options that say whom to follow.
# vm: 76, timeout: 240
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3 curl cc unshare

load=$live_dir/events-load.py
ns_make host
port=18080
# In a virtual machine everything takes a hundred times as long: less of everything.
asked=250 burst=20000
[ -z "${NEST_VM-}" ] || asked=10 burst=400

# lost: what the run's last line says.
lost() {
	sed -n 's/^nest: [0-9]* events, \([0-9]*\) lost.*/\1/p' "$nest_err"
}

# No connection is on its way to its end any more.
all_closed() {
	[ -z "$(in_ns "$host" ss -Htan state connected exclude time-wait)" ]
}

# bg_in_ns NAME COMMAND ...: $bg_pid; output in $room/NAME.out, which must say "ready".
bg_in_ns() {
	local name=$1
	shift
	nsenter --net="/run/netns/$host" -- "$@" >"$room/$name.out" 2>"$room/$name.err" </dev/null &
	bg_pid=$!
	note_process "$bg_pid"
	wait_for 20 grep -q ready "$room/$name.out" || { diag "$(cat "$room/$name.err")"; exit 1; }
}

# --- owners: 1,000 requests of curl ----------------------------------------------------------------------------------

# Each server divides its work in another way and writes down who answered which connection.
for ((i = 0; i < asked; i++)); do
	echo "url = \"http://127.0.0.1:$port/\""
	echo 'output = "/dev/null"'
done >"$room/curl.conf"
for mode in threads fork prefork pass; do
	bg_in_ns "$mode" python3 "$live_dir/owner-load.py" $mode $port "$room/$mode.log"
	server=$bg_pid
	nest_bg tcplife -N "$host" --json
	wait_ready "$nest_err" || exit 1
	in_ns "$host" curl -s -H 'Connection: close' -K "$room/curl.conf" 2>"$room/curl.err"
	wait_for 10 eval "[ \$(wc -l <\"$nest_out\") -ge $((2 * asked)) ]"
	end_bg "$nest_pid"
	kill -TERM "$server"
	for pid in $(ip netns pids "$host"); do
		kill -TERM "$pid" 2>/dev/null
	done
	wait "$server" 2>/dev/null
	is "$(python3 - "$nest_out" "$room/$mode.log" $port <<'PY'
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
true = dict(line.split() for line in open(sys.argv[2]))
server = [e for e in rows if e["lport"] == int(sys.argv[3])]
wrong = [e for e in server if e["pid"] != int(true[str(e["rport"])])]
print(len(true), len(server), len(wrong), len({e["pid"] for e in rows if e["rport"] == int(sys.argv[3])}))
PY
)" "$asked $asked 0 1" \
	"$mode: $asked requests of curl, $asked rows of the server's sockets, 0 with a wrong owner, one client"
done

# Nobody sends or receives: whoever accepts and closes is the owner, not the one who listened.
nest_bg trace tcp.close --count --by role,pid -N "$host" --json
wait_ready "$nest_err" || exit 1
in_ns "$host" python3 "$load" burst 18600 100
wait_for 10 all_closed
end_bg "$nest_pid"
is "$(figures "$nest_out" "sorted((e['role'], e['count']) for e in r)")" \
	"[('client', 100), ('server', 100)]" 'each role has one owner'
is "$(figures "$nest_out" "len({e['pid'] for e in r})")" 2 'and they are two'

# Up to the last row: owners are known from what ends after the events about them.
bg_in_ns steady python3 -c '
import socket, threading
s = socket.create_server(("127.0.0.1", 18601))
def serve():
    while True:
        c, _ = s.accept()
        c.sendall(c.recv(100))
        c.close()
threading.Thread(target=serve, daemon=True).start()
print("ready", flush=True)
while True:
    c = socket.create_connection(("127.0.0.1", 18601))
    c.sendall(b"x")
    c.recv(100)
    c.close()
'
nest_bg tcplife -N "$host" -P 18601 --json
wait_ready "$nest_err" || exit 1
wait_for 20 eval "[ \$(wc -l <\"$nest_out\") -ge 50 ]"
end_bg "$nest_pid"
kill -KILL "$bg_pid"
wait "$bg_pid" 2>/dev/null
# Of the first ones some were closed already when the run began.
is "$(figures "$nest_out" 'len(r) >= 50, {e["pid"] for e in r[-30:]}')" \
	"(True, {$bg_pid})" 'while connections come and go, every row has its owner to the end'

# --- 20,000 connections, and a map that is too small -----------------------------------------------------------------

# A third run counts without keys: where the kernel does not run the programs, that is the measure for the others.
# Cookies are twice as many as the map has room for, and more. The kernel's tracer knows no namespaces: a port that
# nobody else is likely to have.
own=$((20000 + $$ % 10000))
unseen_begin sock/inet_sock_set_state "newstate == 7 && oldstate != 10 && (sport == $own || dport == $own)"
nest_bg tcplife -N "$host" --csv
wait_ready "$nest_err" || exit 1
stream_pid=$nest_pid stream_out=$nest_out stream_err=$nest_err
nest_bg trace tcp.close --count -N "$host" --json
wait_ready "$nest_err" || exit 1
count_pid=$nest_pid count_out=$nest_out
nest_bg trace tcp.close --count --by cookie -N "$host" --json
wait_ready "$nest_err" || exit 1
groups_max=10240
in_ns "$host" python3 "$load" burst $own $burst
wait_for 10 all_closed
for pid in "$stream_pid" "$count_pid" "$nest_pid"; do
	end_bg "$pid"
done
reported=$(figures "$count_out" 'r[0]["count"]')
unseen=$(unseen)
[ "$unseen" -eq 0 ] || diag "$unseen ends came while no program is run"
is "$((reported + (reported < 2 * burst ? unseen : 0)))" \
	$((2 * burst)) "a burst of $burst connections has $((2 * burst)) ends, all of which are reported"
is "$(($(wc -l <"$stream_out") - 1))" "$reported" 'each reported end has its row, with the default buffer'
like "$(tail -1 "$stream_err")" ' 0 lost$' 'none was lost'
added=$(figures "$nest_out" 'sum(e["count"] for e in r)')
if [ $((2 * burst)) -lt $((2 * groups_max)) ]; then
	is "$added" "$reported" 'a group for each'
	skip 'a map of groups that is too small' 'to fill it takes minutes in an emulated machine'
else
	compare "$(lost)" -gt 0 'a map of groups that is too small loses events'
	compare "$added" -lt "$reported" 'fewer were aggregated than reported'
	is $((added + $(lost))) "$reported" 'with what was lost it is all, and no more'
	like "$(tail -1 "$nest_err")" 'beyond the limit of groups' 'with the reason'
fi

# --- names -----------------------------------------------------------------------------------------------------------

for format in '' --json; do
	# shellcheck disable=SC2086 # an option or nothing
	in_ns "$host" "$nest" trace tcp.close $format -o "$room/name.out" --where 'comm' -- \
		python3 "$load" named 18700 '\x1b[31m\n\t"\x07\\\xff,' 2>"$room/name.err"
	is "$(LC_ALL=C tr -d '\n' <"$room/name.out" | LC_ALL=C grep -c '[[:cntrl:]]')" \
		0 "a name of control characters does no harm ${format:-in text}"
	compare "$(wc -l <"$room/name.out")" -ge 1 "and it is shown ${format:-in text}"
done
like "$(figures "$room/name.out" 'ascii(r[0]["comm"])')" 'x1b\[31m.n.t".x07' 'JSON carries it whole'

# --- who and what goes away ------------------------------------------------------------------------------------------

bg_in_ns dying python3 "$load" serve 18701 5
nest_bg trace sock.recv -p "$bg_pid" --ustack --json
wait_ready "$nest_err" || exit 1
in_ns "$host" python3 "$load" ask 18701 5 7
kill -KILL "$bg_pid"
wait "$bg_pid" 2>/dev/null
ok 'a trace of a process that dies goes on' kill -0 "$nest_pid"
end_bg "$nest_pid"
is "$end_status $(figures "$nest_out" "sum(e['bytes'] or 0 for e in r) >= 35")" \
	'0 True' 'and tells what was seen before'

ns_make gone
gone_inum=$(stat -Lc %i "/run/netns/$gone")
nest_bg tcplife -N "$gone" --json
wait_ready "$nest_err" || exit 1
in_ns "$gone" python3 "$load" burst 18702 3 >/dev/null
ip netns del "$gone"
ok 'a tool whose namespace vanishes ends' wait_for 20 bash -c "! kill -0 $nest_pid"
end_bg "$nest_pid"
like "$(cat "$nest_err")" 'the network namespace of -N is gone' 'and says why'
is "$end_status $(figures "$nest_out" "[len(r), {e['netns'] for e in r}]")" "0 [6, {$gone_inum}]" \
	'a namespace that vanishes: its events are there'
"$nest" tcplife -N "$gone" -d 1 2>"$room/err" >/dev/null
is "$?" 2 'a namespace that is not there is a mistake of usage'
like "$(cat "$room/err")" "$gone" 'which names it'

# --- whom to follow --------------------------------------------------------------------------------------------------

# The parent does nothing itself; one child is there before the trace, the other comes later.
bg_in_ns parent python3 "$load" family 18703 "$room/go"
nest_bg trace sock.send -p "$bg_pid" --children --json
wait_ready "$nest_err" || exit 1
children=$nest_out traced=$nest_pid
nest_bg trace sock.send -p "$bg_pid" --json
wait_ready "$nest_err" || exit 1
touch "$room/go"
wait "$bg_pid"
end_bg "$traced"
end_bg "$nest_pid"
is "$(figures "$children" "sorted(e['bytes'] for e in r)")" \
	'[11, 22]' '--children: those that are there and those that come'
is "$(figures "$nest_out" 'len(r)')" 0 'without it, the process alone'

for name in "$host" "/run/netns/$host"; do
	nest_bg trace sock.send --count -N "$name" --json
	wait_ready "$nest_err" || exit 1
	in_ns "$host" python3 "$load" burst 18704 3 >/dev/null
	in_ns "$host" python3 "$load" bytes 18705 >/dev/null
	python3 "$load" bytes 18725 >/dev/null
	end_bg "$nest_pid"
	compare "$(figures "$nest_out" 'r[0]["count"]')" -le 4 "-N ${name%%/nest*}: nothing of other namespaces"
	compare "$(figures "$nest_out" 'r[0]["count"]')" -ge 3 "-N ${name%%/nest*}: what happened there"
done

unified=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
group=$unified/nest-test-$$
if [ -n "$unified" ] && mkdir "$group" 2>/dev/null; then
	mkdir "$group/inner"
	nest_bg trace sock.send --sum bytes --by cgroup -C "${group#"$unified"}" -N "$host" --json
	wait_ready "$nest_err" || exit 1
	in_ns "$host" python3 "$load" bytes 18740 >/dev/null
	# One group was there before; of the others, none was, and the last one is made by
	# nobody whom the trace has seen.
	mkdir "$group/later" && mkdir "$group/later/innermost"
	: >"$room/groups"
	for inside in inner later later/innermost; do
		in_ns "$host" sh -c "echo \$\$ >$group/$inside/cgroup.procs && exec python3 $load bytes 18750" |
			from_json "'${group#"$unified"}/$inside %d' % sum(w['sent'] for w in j)" >>"$room/groups"
	done
	end_bg "$nest_pid"
	compare "$(wc -l <"$room/groups")" -eq 3 'something was sent in three control groups'
	is "$(figures "$nest_out" '"\n".join(sorted(e["cgroup"] + " " + str(e["sum"]) for e in r))')" \
		"$(sort "$room/groups")" \
		'-C: the bytes of a group by those inside it, of those that are made later, too, and no others'
	rmdir "$group/later/innermost" "$group/later" "$group/inner" "$group"
else
	skip '-C' 'no control group can be made here'
fi
"$nest" trace sock.send -C no-such-group -d 1 2>"$room/err" >/dev/null
is "$?" 2 'a control group that is not there is a mistake of usage'
"$nest" sockets -C no-such-group 2>"$room/err" >/dev/null
is "$? $(grep -c 'there is no cgroup .*no-such-group' "$room/err")" '2 1' 'of sockets, too'
# A number that nobody has: the kernel gives out none that large.
for command in 'trace tcp.close' 'trace tcp.close --children' tcplife socketio path; do
	# shellcheck disable=SC2086 # a command and its words
	"$nest" $command -p 2147483647 -d 5 2>"$room/err" >/dev/null
	is "$? $(grep -c 'there is no process 2147483647' "$room/err")" \
		'2 1' "$command: so is a process that is not there"
done

"$nest" trace sock.send -- "$room/no-such-command" 2>"$room/err" >/dev/null
is "$?" 2 'so is a command that cannot be run'
like "$(cat "$room/err")" 'cannot run .*no-such-command' 'and it is named'

# --- stacks ----------------------------------------------------------------------------------------------------------

cat >"$room/stack.c" <<'C'
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>
__attribute__((noinline)) long innermost_call(int fd) { return send(fd, "abc", 3, 0) + 0; }
__attribute__((noinline)) long outer_call(int fd) { return innermost_call(fd) + 1; }
int main(void)
{
	struct in_addr loopback = {htonl(INADDR_LOOPBACK)};
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(18799), .sin_addr = loopback};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	return connect(fd, (void *)&to, sizeof(to)) || outer_call(fd) != 4 || pause();
}
C
ok 'a program with frame pointers is built' cc -O0 -fno-omit-frame-pointer -o "$room/stack" "$room/stack.c"
# Functions of the program are found while it runs: it waits until its stack has been reported.
cat >"$room/stack.sh" <<'SH'
"$1" &
tries=0
until grep -q outer_call "$2" || [ $((tries += 1)) -gt 100 ]; do
	sleep 0.1
done
kill $!
SH
for format in --json ''; do
	# shellcheck disable=SC2086 # an option or nothing
	in_ns "$host" "$nest" trace sock.send --stack --ustack $format -o "$room/stack${format:--text}" -- \
		sh "$room/stack.sh" "$room/stack" "$room/stack${format:--text}" 2>"$room/err"
done
like "$(figures "$room/stack--json" '[f.split("+")[0] for f in r[0]["kstack"]]')" \
	'udp_sendmsg|inet_sendmsg|sys_sendto' 'functions of the kernel, by name'
unlike "$(figures "$room/stack--json" 'r[0]["kstack"][0]')" '^(bpf_|__bpf)' 'without those of the instrumentation'
like "$(figures "$room/stack--json" '[f.split("+")[0] for f in r[0]["ustack"]]')" \
	"outer_call', 'main'" 'functions of the program, in order'
like "$(cat "$room/stack-text")" 'outer_call' 'and in the table'

# --- what is missing -------------------------------------------------------------------------------------------------

unshare -m sh -c 'mount -t tmpfs none /sys/kernel/btf && exec "$0" tcplife -d 1' "$nest" 2>"$room/err" >/dev/null
is "$?" 3 'without BTF nothing can be observed'
like "$(cat "$room/err")" 'BTF.*CONFIG_DEBUG_INFO_BTF' 'and that is said, with what would help'
as_nobody "$nest" tcplife -d 1 2>"$room/err" >/dev/null
is "$?" 3 'without privilege nothing can be observed'
like "$(cat "$room/err")" 'CAP_BPF.*CAP_PERFMON' 'and the capabilities that are missing are named'

finish
