# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# For tests that need a real kernel. A test is
#
#   #!/usr/bin/env bash
#   . "$(dirname "$0")/lib.sh"
#   require_root
#   ns_make client                        # network namespace; its unique name is in $client
#   in_ns "$client" ip link set lo up
#   nest_bg tcpretrans -N "$client"       # output in $nest_out and $nest_err, pid in $nest_pid
#   wait_ready "$nest_err"
#   ...
#   is "$got" "$want" 'what this shows'
#   finish
#
# Namespaces are removed and processes started here are ended when the test ends, however it ends: a guard process sees
# to it when the test is killed. Nothing waits by sleeping a guessed time: wait_for polls with a limit.

live_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root_dir=$(cd "$live_dir/../.." && pwd)
: "${NEST_BUILD:=$root_dir/build}"
nest=$NEST_BUILD/nest
export LC_ALL=C.UTF-8 TZ=UTC
# The interpreter itself, not a script that looks for it: what such a script does would be traced, too.
if interpreter=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null); then
	export PATH="${interpreter%/*}:$PATH"
fi

. "$live_dir/undo.sh"

tap_number=0
tap_failed=0
tap_finished=
# Private to this run; the guard reads what is to be undone from it.
room=$(mktemp -d) || exit 1
: >"$room/namespaces"
: >"$room/pids"

# --- results ---------------------------------------------------------------------------------------------------------

# Lines as TAP comments.
diag() {
	printf '%s\n' "$*" | sed 's/^/# /'
}

# pass NAME / fail NAME
pass() {
	tap_number=$((tap_number + 1))
	printf 'ok %d - %s\n' "$tap_number" "$1"
}

fail() {
	tap_number=$((tap_number + 1))
	tap_failed=$((tap_failed + 1))
	printf 'not ok %d - %s\n' "$tap_number" "$1"
	return 1
}

# ok NAME COMMAND ...: the command succeeds.
ok() {
	local name=$1
	shift
	if "$@" >"$room/ok.out" 2>&1; then
		pass "$name"
	else
		fail "$name"
		diag "exit status $? of: $*"
		diag "$(head -c 4000 "$room/ok.out")"
		return 1
	fi
}

# is GOT WANT NAME
is() {
	if [ "$1" = "$2" ]; then
		pass "$3"
	else
		fail "$3"
		diag "expected: $2"
		diag "     got: $1"
		return 1
	fi
}

# like GOT REGULAR-EXPRESSION NAME
like() {
	if [[ $1 =~ $2 ]]; then
		pass "$3"
	else
		fail "$3"
		diag "expected: to match $2"
		diag "     got: $1"
		return 1
	fi
}

# unlike GOT REGULAR-EXPRESSION NAME
unlike() {
	if [[ $1 =~ $2 ]]; then
		fail "$3"
		diag "expected: not to match $2"
		diag "     got: $1"
		return 1
	else
		pass "$3"
	fi
}

# compare LEFT OPERATOR RIGHT NAME, with -eq -ne -lt -le -gt -ge
compare() {
	if [[ $1 =~ ^-?[0-9]+$ && $3 =~ ^-?[0-9]+$ ]] && test "$1" "$2" "$3"; then
		pass "$4"
	else
		fail "$4"
		diag "expected: $2 $3"
		diag "     got: $1"
		return 1
	fi
}

# figures FILE EXPRESSION: a Python expression over the records of a file of JSON lines, which are in r.
# Without what sites add to the interpreter, which starts in half the time then.
figures() {
	python3 -IS -c 'import json, sys
r = [json.loads(line) for line in open(sys.argv[1])]
print(eval("(" + sys.argv[2] + ")"))' "$1" "$2"
}

# from_json EXPRESSION: a Python expression over the JSON text on standard input, which is in j.
from_json() {
	python3 -IS -c 'import json, sys
j = json.load(sys.stdin)
print(eval("(" + sys.argv[1] + ")"))' "$1"
}

# skip NAME REASON: one test that cannot be made here.
skip() {
	tap_number=$((tap_number + 1))
	printf 'ok %d - %s # SKIP %s\n' "$tap_number" "$1" "$2"
}

# skip_all REASON: none of this file's tests can be made here. Only before the first result.
skip_all() {
	if [ "$tap_number" -gt 0 ]; then
		diag "skip_all after results: $1"
		exit 1
	fi
	printf '1..0 # SKIP %s\n' "$1"
	tap_finished=1
	exit 0
}

# The last line of a test.
finish() {
	[ -z "$unseen_dir" ] || diag "unseen: $(unseen)"
	printf '1..%d\n' "$tap_number"
	tap_finished=1
	[ "$tap_failed" -eq 0 ] && [ "$tap_number" -gt 0 ]
	exit
}

require_root() {
	[ "$(id -u)" = 0 ] || skip_all 'needs root'
}

require_cmd() {
	local command
	for command; do
		command -v "$command" >/dev/null || skip_all "needs the command $command"
	done
}

# require_event NAME ...: where this kernel is too old to report one of them, with nest's own reason. Anywhere else its
# absence is a failure.
require_event() {
	local event reason old='no tracepoint|no atomic operations|ENOTSUPP'
	for event; do
		reason=$("$nest" events "$event" --json |
			sed -nE "s/.*\"available\":false.*\"reason\":\"([^\"]*($old)[^\"]*)\".*/\1/p")
		[ -z "$reason" ] || skip_all "$event: $reason"
	done
}

# --- what is undone at the end ---------------------------------------------------------------------------------------

at_exit() {
	local status=$?
	trap - EXIT
	# Cleaning up goes on whatever fails on the way, even in a test that chose otherwise.
	set +eu
	if [ -z "$tap_finished" ]; then
		diag "the test ended early, after $tap_number results"
		status=1
	fi
	undo_all
	exit "$status"
}

# A process of its own session (a signal to the test's group does not reach it) that waits for this shell to end, and
# does what is left to do when the shell could not.
start_guard() {
	setsid bash -c '
		room=$2
		. "$3/undo.sh"
		tail --pid="$1" -s 0.1 -f /dev/null
		[ -d "$room" ] && undo_all
		exit 0
	' guard "$$" "$room" "$live_dir" </dev/null >/dev/null 2>&1 &
	disown "$!"
}

# --- waiting ---------------------------------------------------------------------------------------------------------

# All limits are longer in an emulated machine, and to look takes longer there than to wait.
slower=1 look_every=0.02
[ -z "${NEST_VM-}" ] || slower=10 look_every=0.3

# pause SECONDS: without a process of its own, which an emulated machine takes longer to start than it would sleep.
mkfifo "$room/never"
exec {never_fd}<>"$room/never"
pause() {
	read -r -t "$1" -u "$never_fd"
	return 0
}

# has_line FILE PREFIX: whether a line begins with it.
has_line() {
	local line
	[ -e "$1" ] || return 1
	while IFS= read -r line || [ -n "$line" ]; do
		[[ $line != "$2"* ]] || return 0
	done <"$1"
	return 1
}

# wait_for SECONDS COMMAND ...: until it succeeds; fails after SECONDS.
wait_for() {
	local limit=$((SECONDS + $1 * slower + 1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$limit" ] || return 1
		pause "$look_every"
	done
}

# wait_ready FILE [SECONDS]: until nest has written "nest: ready" there. Fails when it ended before.
wait_ready() {
	local file=$1 limit=$((SECONDS + ${2:-60} * slower))
	until has_line "$file" 'nest: ready'; do
		if [ "$SECONDS" -ge "$limit" ] || { [ -n "${nest_pid-}" ] && ! kill -0 "$nest_pid" 2>/dev/null; }; then
			has_line "$file" 'nest: ready' && return 0
			diag "no 'nest: ready' in $file:"
			diag "$(head -c 4000 "$file" 2>/dev/null)"
			return 1
		fi
		pause "$look_every"
	done
}

# --- what no program sees ---------------------------------------------------------------------------------------------

# There are kernels that run no BPF program while their first process is the current one, and what an interrupt does
# then (a packet arrives, a timer lets one go) no program sees. The kernel's own tracer does.
#
# unseen_begin EVENT FILTER ...: begins to trace events (sock/inet_sock_set_state and so on) that the filters of
# tracefs let through: those of the test's own packets and connections. unseen: of how many of them the first process
# was the current one, 0 when the tracer cannot be had.
unseen_dir=
unseen_begin() {
	[ -z "$unseen_dir" ] || rmdir "$unseen_dir" 2>/dev/null
	# A mount of its own: whether the host has one makes a difference for nest.
	[ -d "$room/tracing" ] || { mkdir "$room/tracing" && mount -t tracefs nodev "$room/tracing" 2>/dev/null; }
	unseen_dir=$room/tracing/instances/nest-${room##*/}
	mkdir "$unseen_dir" 2>/dev/null || { unseen_dir='' && return; }
	echo 16384 >"$unseen_dir/buffer_size_kb"
	while [ $# -ge 2 ]; do
		echo "$2" >"$unseen_dir/events/$1/filter" && echo 1 >"$unseen_dir/events/$1/enable" ||
			diag "$1 cannot be counted"
		shift 2
	done
}

# exact: in a file whose figures are compared to the last one, before anything is done. Where it fails and something was
# unseen, it is run again, up to twice.
exact() {
	local try status=1
	[ -z "${NEST_TRY-}" ] || return 0
	for try in 1 2 3; do
		NEST_TRY=$try bash "$0" >"$room/said"
		status=$?
		[ "$status" -ne 0 ] && grep -q '^# unseen: [1-9]' "$room/said" && [ "$try" -lt 3 ] || break
		grep '^not ok\|^# unseen' "$room/said" | sed "s/^#* */# try $try: /"
	done
	cat "$room/said"
	tap_finished=1
	exit "$status"
}

unseen() {
	[ -n "$unseen_dir" ] || { echo 0 && return; }
	# COMM-PID [CPU] ...
	find /proc/1/task -mindepth 1 -maxdepth 1 -printf '%f\n' | awk 'FNR == NR { first[$1]; next }
		match($0, /-[0-9]+ +\[[0-9]+\]/) { split(substr($0, RSTART + 1), part, " "); n += part[1] in first }
		END { print n + 0 }' - "$unseen_dir/trace"
	! grep -q '^overrun: [1-9]' "$unseen_dir"/per_cpu/cpu*/stats || diag 'the tracer has lost events' >&2
}

# --- namespaces and processes ----------------------------------------------------------------------------------------

ns_count=0

# ns_make VARIABLE: makes a network namespace with lo up and puts its name into VARIABLE.
ns_make() {
	local name
	ns_count=$((ns_count + 1))
	name=nest-$$-$RANDOM-$ns_count
	# Noted first: a kill between the two lines must not leave it behind.
	printf '%s\n' "$name" >>"$room/namespaces"
	ip netns add "$name" || { diag "cannot make the namespace $name"; exit 1; }
	in_ns "$name" ip link set lo up || exit 1
	printf -v "$1" %s "$name"
}

# in_ns NAMESPACE COMMAND ...: unlike `ip netns exec` this leaves tracefs and cgroups visible.
in_ns() {
	local name=$1
	shift
	nsenter --net="/run/netns/$name" -- "$@"
}

# as_nobody COMMAND ...: as a user without any privilege.
as_nobody() {
	setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all "$@"
}

# with_tracefs COMMAND ..., without_tracefs COMMAND ...: whatever the host has mounted.
with_tracefs() {
	unshare -m sh -c 'grep -q " /sys/kernel/tracing tracefs " /proc/mounts ||
		mount -t tracefs nodev /sys/kernel/tracing || exit 1
		exec "$@"' sh "$@"
}
without_tracefs() {
	unshare -m sh -c 'umount -l /sys/kernel/debug/tracing /sys/kernel/debug /sys/kernel/tracing 2>/dev/null
		exec "$@"' sh "$@"
}

link_count=0

# ns_quiet NAMESPACE DEVICE ADDRESS PEER-NAMESPACE: no packet but those of the test will leave the device: it has no
# IPv6 of its own, and knows the neighbour with the address for good.
ns_quiet() {
	local mac
	mac=$(ip -n "$4" -br link show dev "$2" | awk '{ print $3 }') &&
		in_ns "$1" sh -c "echo 1 >/proc/sys/net/ipv6/conf/$2/disable_ipv6" &&
		ip -n "$1" neigh replace "$3" lladdr "$mac" dev "$2" nud permanent ||
		{ diag "cannot quieten $2"; exit 1; }
}

# ns_link A ADDRESS-A B ADDRESS-B: joins two namespaces by a veth pair; $link_dev is its name on both sides.
ns_link() {
	link_count=$((link_count + 1))
	# No other test has one of that name.
	link_dev=v${link_count}n$$
	ip -n "$1" link add "$link_dev" type veth peer name "$link_dev" netns "$3" &&
		ip -n "$1" addr add "$2" dev "$link_dev" && ip -n "$3" addr add "$4" dev "$link_dev" &&
		ip -n "$1" link set "$link_dev" up && ip -n "$3" link set "$link_dev" up ||
		{ diag "cannot join $1 and $3"; exit 1; }
}

# ns_drop NAMESPACE HOOK MATCH: a firewall without counters that drops what matches, on input, output or forward.
ns_drop() {
	in_ns "$1" nft -f - <<-END
		table inet f {
			chain c {
				type filter hook $2 priority 0
				$3 drop
			}
		}
	END
}

# bg COMMAND ...: in the background, ended with the test at the latest; its pid is in $bg_pid.
bg() {
	"$@" &
	bg_pid=$!
	note_process "$bg_pid"
}

# sink NAMESPACE ADDRESS PORT [UDP-PORT]: reads one connection to its end, and leaves datagrams
# unread; its pid is in $sink_pid.
sink() {
	nsenter --net="/run/netns/$1" -- python3 -c '
import socket, sys
address, port, *datagrams = sys.argv[1:]
held = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in datagrams]
for s in held:
    s.bind((address, int(datagrams[0])))
s = socket.create_server((address, int(port)))
print("ready", flush=True)
c, _ = s.accept()
while c.recv(65536):
    pass
' "${@:2}" >"$room/sink.out" &
	sink_pid=$!
	note_process "$sink_pid"
	wait_for 20 grep -q ready "$room/sink.out" || exit 1
}

# look OUTPUT ARGUMENT ...: nest diagnose in the background, waited for by wait_looks; errors go to OUTPUT.err. Each
# look adds its programs to every packet of the host: where one emulated CPU runs them all, the next begins when it has
# ended.
looks=()
look() {
	"$nest" diagnose "${@:2}" >"$1" 2>"$1.err" &
	note_process "$!"
	looks+=("$!")
	[ -z "${NEST_VM-}" ] || wait_looks
}
wait_looks() {
	[ ${#looks[@]} -eq 0 ] || wait "${looks[@]}"
	looks=()
}

nest_count=0

# nest_bg ARGUMENT ...: nest in the background; $nest_out, $nest_err, $nest_pid.
nest_bg() {
	nest_count=$((nest_count + 1))
	nest_out=$room/nest-$nest_count.out
	nest_err=$room/nest-$nest_count.err
	: >"$nest_err"
	"$nest" "$@" >"$nest_out" 2>"$nest_err" </dev/null &
	nest_pid=$!
	note_process "$nest_pid"
}

# end_bg PID [SIGNAL [SECONDS]]: ends it (default INT), with KILL after SECONDS (10); its status is in $end_status.
end_bg() {
	local limit=$((SECONDS + ${3:-10} * slower))
	kill "-${2:-INT}" "$1" 2>/dev/null
	while kill -0 "$1" 2>/dev/null && [ "$SECONDS" -lt "$limit" ]; do
		pause "$look_every"
	done
	if kill -0 "$1" 2>/dev/null; then
		diag "process $1 did not end at ${2:-INT}; killed"
		kill -KILL "$1" 2>/dev/null
	fi
	wait "$1" 2>/dev/null
	# shellcheck disable=SC2034 # for the caller
	end_status=$?
	sed -i "/^$1 /d" "$room/pids"
}

trap at_exit EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
start_guard

# causes FILE WINDOWS: what the last windows of a diagnosis (JSON) blame first, each cause once;
# "nothing" where they blame nobody.
causes() {
	python3 - "$1" "$2" <<-'END'
		import json, sys
		said = [json.loads(line) for line in open(sys.argv[1])]
		first = {w["findings"][0]["cause"] if w["findings"] else "nothing" for w in said[-int(sys.argv[2]):]}
		print(" ".join(sorted(first)))
	END
}
