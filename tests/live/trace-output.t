#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What tools write, and in which order: without privilege, without events, and as people know it.
# vm: 15
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3 setpriv

# The tree may lie where others may not look.
cp "$nest" "$room/nest" && chmod 755 "$room" "$room/nest" || exit 1
for format in --format=table --csv --json; do
	as_nobody "$room/nest" socketio "$format" -d 1 >"$room/out" 2>"$room/err"
	is "$?" 3 "without privilege nothing can be observed ($format)"
	is "$(wc -c <"$room/out")" 0 "and nothing is shown ($format)"
done

ns_make host
# Whoever looks at all namespaces of the host sends something in ours, too.
"$nest" trace sock.send -N "$host" --where 'proto == tcp' --count --by comm -d 0.1 >"$room/both" 2>&1
is "$(sed -n '$p' "$room/both")" 'nest: 0 events, 0 lost' 'the closing line comes last where nothing happened'
like "$(cat "$room/both")" 'COMM +COUNT' 'and the heading says what would have been shown'

nest_bg tcptracer -N "$host"
wait_ready "$nest_err" 60 || exit 1
in_ns "$host" python3 - <<-'END'
	import socket
	listener = socket.create_server(("127.0.0.1", 0))
	client = socket.create_connection(listener.getsockname())
	listener.accept()[0].close()
	client.close()
END
both_closed() {
	[ "$(grep -c '^X' "$nest_out")" -eq 2 ]
}
ok 'both ends of a connection are reported' wait_for 10 both_closed
end_bg "$nest_pid"
is "$(awk 'NR > 1 { print $1 }' "$nest_out" | sort | tr -d '\n')" ACXX 'tcptracer has the letters that people know'

# --- what nobody sees -------------------------------------------------------------------------------------------------

# runs: how often threads of the host's first process got a CPU. Of one that ran twice
# a program must have seen it.
runs() {
	cat /proc/1/task/*/schedstat 2>/dev/null | awk '{ runs += $3 } END { print runs + 0 }'
}
# has_run COUNT: whether it has run so often. Whoever is left without parents is its child,
# and it is woken when they end.
has_run() {
	(true &)
	[ "$(runs)" -ge "$1" ]
}
# tell_hidden: what a run says of it, while pid 1 is kept running for long enough that it is watched at least twice.
tell_hidden() {
	nest_bg trace sock.send -N "$host" --where 'proto == tcp' --count
	wait_ready "$nest_err" 60 || exit 1
	local end=$((SECONDS + 3))
	while [ "$SECONDS" -lt "$end" ]; do
		has_run 0
		pause "$look_every"
	done
	end_bg "$nest_pid"
	run_err=$nest_err
	reported=$(grep -c 'while pid 1 is on the CPU' "$nest_err")
}
before=$(runs)
# It is watched for a fifth of the time. Where nothing must be reported, it must not be reported by any of several runs.
for _ in $(seq $((slower > 1 ? 3 : 8))); do
	tell_hidden
	[ "$reported" -eq 0 ] || break
done
has_run $((before + 2))
ran=$?
# It looks while it tries other things, and pid 1 may not run just then. In the emulated machine the answer is known.
state=unknown
for _ in 1 2 3 4 5 6; do
	[ "$state" = unknown ] && [ -z "${NEST_VM-}" ] || break
	nest_bg doctor --json
	while kill -0 "$nest_pid" 2>/dev/null; do
		has_run 0
		pause "$look_every"
	done
	state=$(figures "$nest_out" '[e["state"] for e in r if e["check"] == "first_process"][0]')
done
if [ "$ran" -ne 0 ]; then
	skip 'what pid 1 hides is reported' 'pid 1 does not run'
elif [ -n "${NEST_VM-}" ]; then
	is "$reported" 0 'pid 1 hides nothing on this kernel, and nobody says so'
else
	diag "doctor: $state, reported: $reported"
	case $state in
	limited) is "$reported" 1 'what pid 1 hides is reported, as the doctor says' ;;
	ok) is "$reported" 0 'pid 1 hides nothing, as the doctor says' ;;
	*) skip 'what pid 1 hides is reported' 'pid 1 did not run while the doctor looked' ;;
	esac
fi
is "$(sed -n '$p' "$run_err")" 'nest: 0 events, 0 lost' 'and the closing line is the last'

finish
