#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 200
# runs beside others
# Hostile strings (quotes, escape sequences, C1 controls, direction marks, invalid UTF-8, formulas, markup) in a
# recording, in the names of its columns, of functions and of files, through the commands that show them, in every
# format; judged by parsers of Python.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3

ns_make host
# A recording with a stall: without one, watch has nothing to print.
for _ in 1 2 3; do
	rm -f "$room"/a.nest*
	in_ns "$host" "$nest" record -o "$room/a.nest" diagnose tcp.state tcp.close -- python3 -c '
import socket, time
for i in range(20): socket.socket().connect_ex(("127.0.0.1", 9))
s = socket.create_server(("127.0.0.1", 5077)); c = socket.create_connection(s.getsockname()); a, _ = s.accept()
c.settimeout(9)
try:
    while True: c.sendall(b"x" * 65536)
except socket.timeout: pass' 2>/dev/null
	[ -z "$("$nest" watch -f "$room/a.nest" --json 2>/dev/null)" ] || break
	diag "no stall in the recording: $("$nest" diagnose -f "$room/a.nest" 2>&1 | head -n 3 | tr '\n' ' ')"
done
changed=$(python3 "$live_dir/hostile.py" spoil "$room/a.nest")
ok "strings are in the recording ($changed)" test "$changed" -gt 20
cd "$room" || exit 1
# Tables that this recording lacks.
for name in path interrupted scans; do
	gzip -dc "$root_dir/tests/golden/input/$name.nest.gz" >"$name.nest"
	ok "and in that of $name" test "$(python3 "$live_dir/hostile.py" spoil "$name.nest")" -gt 5
done
# And a trace of functions with such names.
python3 "$live_dir/hostile.py" calls >calls.json
ok 'strings are in a trace' "$nest" flow import calls.json -o calls.trace

tried=0
# attempt KIND ARGUMENT ...
attempt() {
	local kind=$1 code
	shift
	timeout 60 "$nest" "$@" >"$room/out" 2>"$room/err"
	code=$?
	ok "$*: ends with 0 or 1, not $code" test "$code" -le 1
	ok "$*: has output" test -s "$room/out"
	ok "$*: is $kind" python3 "$live_dir/hostile.py" "$kind" <"$room/out"
	ok "$*: messages are text" python3 "$live_dir/hostile.py" text <"$room/err"
	tried=$((tried + 1))
}
# In all formats.
while read -ra words; do
	attempt text "${words[@]}"
	attempt lines "${words[@]}" --json
	attempt csv "${words[@]}" --csv
done <<'END'
trace tcp.state -f a.nest
trace tcp.state -f a.nest --count --by comm
tcplife -f a.nest
counters -f a.nest
limits -f a.nest
tables process -f a.nest --from +5s
tables thread -f a.nest --from +5s
watch -f a.nest
sockets -f a.nest --from +5s -w
links -f a.nest
flow sessions calls.trace --by thread
path -f path.nest
stalls -f interrupted.nest
routes -f interrupted.nest --used
ieee80211scan -f scans.nest
END
# In their own.
while read -ra words; do
	attempt "${words[@]}"
done <<'END'
text diagnose -f a.nest --all
lines diagnose -f a.nest --json --from -4s
text report a.nest
json report a.nest --json
html report a.nest --html /dev/stdout
lines export a.nest --format jsonl
csv export a.nest --format csv --table mark
json export a.nest --format perfetto
text export a.nest --format dot
text sql a.nest --schema
text checklist -f a.nest
lines checklist -f a.nest --json
text flow info calls.trace
json flow info calls.trace --json
text flow tree calls.trace --by thread
text flow summary calls.trace --by thread
json flow summary calls.trace --by thread --json
text flow diagram calls.trace --by thread
json flow export calls.trace --by thread --perfetto
folded flow export calls.trace --by thread --folded
text flow export calls.trace --by thread --dot
csv flow export calls.trace --by thread --csv
END
for format in '' --json --csv; do
	# shellcheck disable=SC2086
	"$nest" sql a.nest 'SELECT * FROM mark' $format >"$room/out" 2>"$room/err"
	is "$?" 0 "sql $format: columns with such names"
	kind=$([ "$format" = --json ] && echo lines || echo "${format#--}")
	ok 'are names' python3 "$live_dir/hostile.py" "${kind:-text}" <"$room/out"
done
ok 'commands were tried' test "$tried" -ge 54

# File names.
name=$'e\e[31m\x07\u0085\xff".nest'
for command in report sql 'diagnose -f' 'sockets -f' 'watch -f' 'export --format jsonl' 'flow info' 'flow sessions' \
	'trace tcp.state -f' 'path -f' 'tcplife -f' 'sockets -o /nonexistent/'; do
	# shellcheck disable=SC2086
	timeout 20 "$nest" $command "$room/$name" >"$room/out" 2>"$room/err"
	ok "$command: a name that does not exist" test "$?" -ne 0
	ok 'is escaped' python3 "$live_dir/hostile.py" text <"$room/err"
	ok 'in a message' test -s "$room/err"
done

finish
