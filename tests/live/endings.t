#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 300
# runs beside others
# How runs end: by the clock, with gaps counted as loss; a recording that vanishes; a recorder that comes back; one exit
# code for one reason.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3 sqlite3

ns_make host
number() {
	sqlite3 -readonly "$1" "$2" 2>/dev/null
}

# The process that samples never answers: see the end.
sampler_of() {
	cat "/proc/$1/task/"*/children 2>/dev/null
}
for _ in 1 2 3 4 5; do
	nest_bg record -N "$host" -o "$room/never.nest" -d 1
	never_pid=$nest_pid never_err=$nest_err never_since=$SECONDS
	until never_sampler=$(sampler_of "$never_pid") && [ -n "$never_sampler" ]; do
		kill -0 "$never_pid" || break
	done
	kill -STOP $never_sampler
	wait_ready "$never_err"
	pause 1
	[ "$(number "$room/never.nest" 'SELECT count(*) FROM sample')" != 0 ] || break
	kill -9 "$never_pid"
	rm -f "$room"/never.nest*
done

# A recorder that does not run for 4 of its 5 seconds still ends after 5, and says what it has not seen.
nest_bg record -N "$host" -o "$room/gap.nest" -d 5
wait_ready "$nest_err"
has_samples() {
	[ "$(number "$room/gap.nest" 'SELECT count(*) > 2 FROM sample')" = 1 ]
}
wait_for 20 has_samples
kill -STOP "$nest_pid"
pause 4
kill -CONT "$nest_pid"
wait "$nest_pid"
is "$?" 0 'a recording that was stopped for a while'
is "$(number "$room/gap.nest" 'SELECT max(begin_boot_ns) - min(begin_boot_ns) < 7500000000 FROM sample')" 1 \
	'ends by the clock, not by the number of windows'
like "$(tail -n 1 "$nest_err")" '[1-9][0-9]* lost; .*samples? skipped, no sample for [0-9.]+ s' 'and reports the gap'
is "$(number "$room/gap.nest" "SELECT sum(count) > 10 FROM loss WHERE source = 'sample'")" 1 'also in the recording'

# The process that samples is held up to the end: the clock ends the run all the same, and the rest is loss.
nest_bg record -N "$host" -o "$room/held.nest" -d 5
wait_ready "$nest_err"
has_begun() {
	[ "$(number "$room/held.nest" 'SELECT count(*) > 4 FROM sample')" = 1 ]
}
wait_for 20 has_begun
sampler=$(cat "/proc/$nest_pid/task/"*/children)
kill -STOP $sampler
begin=$SECONDS
wait "$nest_pid"
is "$? $((SECONDS - begin < 12))" '0 1' 'a sampler that is held up does not hold up the run'
like "$(tail -n 1 "$nest_err")" '[1-9][0-9]* lost; .*samples? skipped' 'and its samples are lost'
kill -CONT $sampler 2>/dev/null

# Held up from the first sample on.
nest_bg sockets 2 -N "$host" -d 5 --save "$room/once.nest"
sampled() {
	[ "$(number "$room/once.nest" 'SELECT count(*) FROM sample')" = 1 ]
}
wait_for 20 sampled
sampler=$(cat "/proc/$nest_pid/task/"*/children)
kill -STOP $sampler
wait "$nest_pid"
like "$(tail -n 1 "$nest_err")" '[1-9] lost; [1-9] samples? skipped' 'what follows the first sample is lost'
kill -CONT $sampler 2>/dev/null

# A recording that vanishes.
vanish_delete() { rm "$1"; }
vanish_truncate() { truncate -s 100 "$1"; }
vanish_move() { mv "$1" "$room/elsewhere.nest"; }
for how in delete truncate move; do
	rm -f "$room"/gone.nest*
	nest_bg record -N "$host" -o "$room/gone.nest" -d 60
	wait_ready "$nest_err"
	has_rows() {
		[ "$(number "$room/gone.nest" 'SELECT count(*) > 2 FROM sample')" = 1 ]
	}
	wait_for 20 has_rows
	"vanish_$how" "$room/gone.nest"
	wait "$nest_pid"
	is "$?" 5 "a recording that vanishes ends with 5 ($how)"
	like "$(cat "$nest_err")" 'was deleted, replaced or truncated by another program' 'and says why'
done

# A recorder that was killed at its start comes back by itself.
for part in 1 2 3 4 5 6 8 10 12 15 20 30 40 60; do
	rm -f "$room"/again.nest*
	timeout -s KILL "0.0$(printf '%02d' "$part")" "$nest" record -N "$host" -o "$room/again.nest" >/dev/null 2>&1
	[ "$(stat -c %s "$room/again.nest" 2>/dev/null || echo 0)" = 0 ] || continue
	killed=$part
	"$nest" record -N "$host" -o "$room/again.nest" -d 1 2>"$room/err" || break
	cp "$room/again.nest" "$room/whole.nest"
done 2>/dev/null
# The last one may have been killed later.
rm -f "$room"/again.nest*
mv "$room/whole.nest" "$room/again.nest"
ok "an empty file of its own is taken over (killed after $killed ms)" test -s "$room/again.nest"
unlike "$(cat "$room/err")" 'already exists' 'without complaint'
"$nest" record -N "$host" -o "$room/again.nest" -d 1 2>/dev/null
is "$?" 5 'a recording is not'
ln -s again.nest "$room/link.nest"
"$nest" record -N "$host" -o "$room/link.nest" -d 1 2>/dev/null
is "$?" 5 'and a link is not followed'

# With --append it goes on, also after a kill.
nest_bg record -N "$host" -o "$room/again.nest" --append
wait_ready "$nest_err"
before=$(number "$room/again.nest" 'SELECT count(*) FROM sample')
compare "$before" -gt 3 'the samples of the first run are still there'
more() {
	[ "$(number "$room/again.nest" 'SELECT count(*) FROM sample')" -gt $((before + 5)) ]
}
ok 'and those of the second follow' wait_for 20 more
kill -9 "$nest_pid"
before=$(number "$room/again.nest" 'SELECT count(*) FROM sample')
"$nest" record -N "$host" -o "$room/again.nest" --append -d 1 2>"$room/err"
is "$?" 0 'a recording of a killed recorder is continued'
compare "$(number "$room/again.nest" 'SELECT count(*) FROM sample')" -gt "$before" 'without loss of what was committed'
is "$(number "$room/again.nest" "SELECT count(*) FROM (SELECT id FROM sample GROUP BY id HAVING count(*) > 1)")" 0 \
	'and every sample once'

# A signal while the kernel verifies programs, which takes seconds: it does not wait for the end.
loading() {
	find "/proc/$nest_pid/fd" -lname '*bpf-map*' 2>/dev/null | grep -q . || ! kill -0 "$nest_pid" 2>/dev/null
}
for _ in 1 2 3 4 5; do
	nest_bg path -N "$host"
	wait_for 30 loading
	kill "$nest_pid"
	wait "$nest_pid"
	code=$?
	grep -q ready "$nest_err" || break
done 2>/dev/null
is "$code $(grep -c ready "$nest_err")" '143 0' 'a signal ends nest path while its programs are loaded'

# One code for one reason.
"$nest" record -N "$host" -o "$room/none.nest" -- /nonexistent 2>/dev/null
is "$?" 2 'record: a command that cannot be run'
"$nest" tcplife -- /nonexistent >/dev/null 2>&1
is "$?" 2 'a tool: the same'
"$nest" flow record -o "$room/none.trace" -- /nonexistent >/dev/null 2>&1
is "$?" 2 'flow record: the same'
mkdir -m 777 "$room/open"
chmod 711 "$room"
as_nobody "$nest" record tcp.state -o "$room/open/x.nest" -d 1 >/dev/null 2>"$room/err"
is "$?" 3 'without privilege, events cannot be observed'
like "$(cat "$room/err")" 'CAP_BPF and CAP_PERFMON: .*setcap' 'and the message names capability and command'
ok 'no file is left' test ! -e "$room/open/x.nest"
as_nobody "$nest" record -o "$room/open/past.nest" -d 1 >/dev/null 2>&1
as_nobody "$nest" record tcp.state -o "$room/open/past.nest" --append -d 1 >/dev/null 2>&1
is "$? $(number "$room/open/past.nest" 'SELECT count(*) > 3 FROM sample')" '3 1' 'but a recording that was there stays'
unshare --user --map-root-user "$nest" tcplife -d 1 >/dev/null 2>"$room/err"
is "$?" 3 'in a user namespace, events cannot be observed'
like "$(cat "$room/err")" 'in a user namespace: its capabilities do not count' 'and it is recognised as such'
unshare --user --map-root-user "$nest" sockets -N "$$" >/dev/null 2>"$room/err"
unlike "$(cat "$room/err")" 'needs CAP_SYS_PTRACE' 'a capability that is held is not asked for'
like "$(cat "$room/err")" 'process of another user: refused by the kernel despite CAP_SYS_PTRACE' 'but named'
for command in diagnose sockets 'record -o x.nest'; do
	# shellcheck disable=SC2016,SC2086
	(cd "$room" && nest=$nest unshare --mount bash -c 'mount -t tmpfs none /proc; "$nest" "$@" -d 1' - $command) \
		>/dev/null 2>"$room/err"
	is "$?" 3 "without /proc: $command"
	like "$(cat "$room/err")" '/proc is not mounted' 'and the reason is recognised'
done

# A limit of the file size is an error, not a signal; a command that nest starts has the signal as before.
(ulimit -f 100 && exec "$nest" record -o "$room/limited.nest" -d 3) >/dev/null 2>"$room/err"
is "$?" 5 'a limit of the file size ends a recording'
like "$(cat "$room/err")" 'limited.nest: .*ulimit -f' 'with the reason'
(cd "$room" && ulimit -f 1 && exec "$nest" export demo:lossy-path --format jsonl -o limited.json) 2>"$room/err"
is "$? $(test -e "$room/limited.json"; echo $?)" '5 1' 'and an export'
is "$("$nest" trace tcp.state -- awk '$1 == "SigIgn:" { print $2 }' /proc/self/status 2>/dev/null | grep '^0')" \
	"$(awk '$1 == "SigIgn:" { print $2 }' /proc/self/status)" 'signals of a command behind --'

# Filters that can never match.
for tool in softirqlat irqlat napilat; do
	for option in "-N $host" '-P 80' "-p $$" '-C /' '-x'; do
		# An interface has a namespace.
		[ "$tool ${option%% *}" != 'napilat -N' ] || continue
		# shellcheck disable=SC2086
		"$nest" $tool $option -d 1 >/dev/null 2>"$room/err"
		is "$?" 2 "$tool ${option%% *} is refused"
	done
	like "$(cat "$room/err")" 'does not apply' 'with the reason'
done

# Nothing came: an error after 1 s and two minutes for a slow start.
wait "$never_pid"
is "$?" 3 'a run without any sample ends'
compare $((SECONDS - never_since)) -lt 200 'by the clock'
like "$(cat "$never_err")" 'record: no sample came in this time' 'with the reason'
ok 'and leaves no file' test ! -e "$room/never.nest"
kill -CONT $never_sampler 2>/dev/null

finish
