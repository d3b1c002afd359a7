#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 200
# Hostile strings (quotes, escape sequences, C1 controls, direction marks, invalid UTF-8, formulas, markup) in a
# recording, in the names of its columns and in file names, through the commands that show them, in every format; judged
# by parsers of Python.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3

ns_make host
# A recording with a stall: without one, watch has nothing to print.
for _ in 1 2 3; do
	rm -f "$room"/a.nest*
	in_ns "$host" "$nest" record -o "$room/a.nest" -- python3 -c '
import socket, time
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

tried=0
while read -r kind command; do
	# shellcheck disable=SC2086 # words
	timeout 60 "$nest" $command >"$room/out" 2>"$room/err"
	code=$?
	ok "$command: ends with 0 or 1, not $code" test "$code" -le 1
	ok "$command: has output" test -s "$room/out"
	ok "$command: is $kind" python3 "$live_dir/hostile.py" "$kind" <"$room/out"
	ok "$command: messages are text" python3 "$live_dir/hostile.py" text <"$room/err"
	tried=$((tried + 1))
done <<'END'
text diagnose -f a.nest --all
lines diagnose -f a.nest --json --from -4s
text watch -f a.nest
lines watch -f a.nest --json
csv watch -f a.nest --csv
text sockets -f a.nest -w
lines sockets -f a.nest --json
csv sockets -f a.nest --csv
lines links -f a.nest --json
csv links -f a.nest --csv
text report a.nest
json report a.nest --json
html report a.nest --html /dev/stdout
lines export a.nest --format jsonl
csv export a.nest --format csv --table mark
json export a.nest --format perfetto
text export a.nest --format dot
text sql a.nest --schema
END
for format in '' --json --csv; do
	# shellcheck disable=SC2086
	"$nest" sql a.nest 'SELECT * FROM mark' $format >"$room/out" 2>"$room/err"
	is "$?" 0 "sql $format: columns with such names"
	kind=$([ "$format" = --json ] && echo lines || echo "${format#--}")
	ok 'are names' python3 "$live_dir/hostile.py" "${kind:-text}" <"$room/out"
done
ok 'commands were tried' test "$tried" -ge 18

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
