#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The library of the live tests: what it makes is gone afterwards, however a test ends, and failures are failures.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd ip nsenter setsid

# inner NAME TEXT: a test of its own made of TEXT; its file is in $inner.
inner() {
	inner=$room/$1.t
	printf '#!/usr/bin/env bash\n. "%s/lib.sh"\n%s\n' "$live_dir" "$2" >"$inner"
	chmod +x "$inner"
}

# run_inner: runs it; $inner_status, $inner_output.
run_inner() {
	inner_output=$("$inner" 2>&1)
	inner_status=$?
}

gone() {
	! ip netns list | grep -q "^$1\\b"
}

all_gone() {
	local name
	for name in $(cat "$room/$1.names"); do
		gone "$name" || return 1
	done
}

noted=$(cat <<-'END'
	ns_make one; ns_make two
	ns_link "$one" 10.0.0.1/24 "$two" 10.0.0.2/24
	printf '%s\n%s\n' "$one" "$two" >"$NOTES"
END
)

# --- results
inner good 'is a a same; like abc b.$ alike; ok true true; unlike abc x other; compare 3 -lt 4 less; finish'
run_inner
is "$inner_status" 0 'a good test ends with 0'
is "$(tail -1 <<<"$inner_output")" 1..5 'with its plan'
for bad in 'is a b x' 'like a b x' 'ok x false' 'unlike a a x' 'compare 4 -lt 3 x' 'compare four -lt 5 x'; do
	inner bad "pass first; $bad; pass last; finish"
	run_inner
	is "$inner_status" 1 "'$bad' fails the test"
	like "$inner_output" $'\nnot ok 2 - ' "'$bad' has its line"
	like "$inner_output" 1..3 "'$bad' lets the rest run"
done
inner early 'pass one; exit 0'
run_inner
is "$inner_status" 1 'leaving without finish is a failure'
unlike "$inner_output" '1\.\.' 'and prints no plan'
inner none 'finish'
run_inner
is "$inner_status" 1 'a test without results is a failure'
inner skips 'require_cmd no-such-command; finish'
run_inner
is "$inner_output" '1..0 # SKIP needs the command no-such-command' 'a missing command skips with its name'
inner late 'pass one; skip_all why; finish'
run_inner
is "$inner_status" 1 'skipping everything after a result is a failure'

# --- namespaces
ns_make mine
ok 'a namespace is there' test -e "/run/netns/$mine"
like "$(in_ns "$mine" ip -o link show lo)" 'UP' 'with lo up'
is "$(in_ns "$mine" stat -f -c %T /sys/fs/cgroup)" "$(stat -f -c %T /sys/fs/cgroup)" 'cgroups look the same in it'
is "$(in_ns "$mine" readlink /proc/self/ns/mnt)" "$(readlink /proc/self/ns/mnt)" 'and so do all mounts'
ns_make other
ns_link "$mine" 10.0.0.1/24 "$other" 10.0.0.2/24
# Nobody listens there: only the other side itself can refuse.
like "$(in_ns "$mine" timeout 5 bash -c 'exec 3<>/dev/tcp/10.0.0.2/9' 2>&1)" \
	'refused' 'linked namespaces reach each other'
unlike "$mine" "^$other\$" 'their names differ'

for how in 'finish' 'exit 1' 'kill -TERM $$' 'kill -INT $$; sleep 5' 'set -e; false'; do
	inner end "export NOTES=$room/end.names; pass x; $noted
bg sleep 4711
in_ns \"\$one\" setsid sleep 4711 >/dev/null 2>&1 &
wait_for 20 eval 'ip netns pids \"\$one\" | grep -q .'
echo \$bg_pid >$room/end.pid
$how"
	run_inner
	ok "after '$how' the namespaces are gone" all_gone end
	is "$(wc -l <"$room/end.names")" 2 "after '$how': there were two"
	ok "after '$how' the background process is gone" bash -c "! kill -0 $(cat "$room/end.pid")"
	rm -f "$room/end.names" "$room/end.pid"
done

inner killed "export NOTES=$room/killed.names; $noted
bg sleep 4711; echo \$bg_pid >$room/killed.pid; echo \$room >$room/killed.room
kill -9 \$\$"
run_inner
is "$inner_status" 137 'a test killed with -9 has no chance'
ok 'but its guard removes the namespaces' wait_for 10 all_gone killed
ok 'and the background process' wait_for 10 bash -c "! kill -0 $(cat "$room/killed.pid")"
ok 'and its directory' wait_for 10 bash -c "! test -e $(cat "$room/killed.room")"

# --- waiting
ok 'wait_for succeeds at once' wait_for 1 true
start=$SECONDS
wait_for 1 false
is "$?" 1 'wait_for gives up'
compare $((SECONDS - start)) -le 15 'in time'
printf 'nest: warming up\n' >"$room/ready"
bg bash -c "sleep 0.3; echo 'nest: ready' >>$room/ready"
ok 'wait_ready sees the line when it comes' wait_ready "$room/ready" 5
printf 'not nest: ready\n' >"$room/notready"
wait_ready "$room/notready" 1 >"$room/wait.out"
is "$?" 1 'wait_ready wants the whole beginning of a line'
like "$(cat "$room/wait.out")" "no 'nest: ready'" 'and says what it saw'

# --- processes
bg bash -c 'trap "exit 7" INT; while :; do sleep 0.05; done'
wait_for 5 test -e "/proc/$bg_pid"
sleep_pid=$bg_pid
end_bg "$sleep_pid" TERM
is "$end_status" 143 'end_bg gives the status of the signal'
bg bash -c 'trap "" TERM; echo up >'"$room/stubborn"'; while :; do sleep 0.05; done'
wait_for 5 test -s "$room/stubborn"
end_bg "$bg_pid" TERM 1 >/dev/null
is "$end_status" 137 'a process that will not end is killed'
finish
