#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 200
# Files: output never destroys input, an old file, or what a link points at; input that is no file does not hang; a
# recorder whose log index shrinks ends with a reason; kernel stacks without symbols.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3 sqlite3

ns_make host
cd "$room" || exit 1
in_ns "$host" "$nest" record -o a.nest diagnose tcp.close -d 4 2>/dev/null
"$nest" flow record -o a.trace -- python3 -c 'pass' >/dev/null 2>&1
gzip -dc "$root_dir/tests/golden/input/path.nest.gz" >path.nest
"$nest" doctor --json >doctor.json 2>/dev/null
printf '<4>[    1.000000] BUG: kernel NULL pointer dereference, address: 0000000000000010\n' >log
mkdir kept
cp -p a.nest a.trace path.nest doctor.json log kept/
cp -p a.nest kept.nest

# Output onto input.
while read -r command; do
	# shellcheck disable=SC2086 # words
	timeout 30 "$nest" $command >"$room/out" 2>"$room/err"
	is "$?" 5 "refused: $command"
	like "$(cat "$room/err")" 'it is the input of this command' 'with the reason'
	for file in kept/*; do
		cmp "$file" "${file#kept/}" || cp -p "$file" .
	done >"$room/different" 2>&1
	is "$(cat "$room/different")" '' 'and the input is as it was'
done <<'END'
diagnose -f a.nest -o a.nest
diagnose -f a.nest --measures a.nest
diagnose -d 1 --past a.nest -o a.nest
watch -f a.nest -o a.nest
sockets -f a.nest -o a.nest
links -f a.nest -o a.nest
counters -f a.nest -o a.nest
limits -f a.nest -o a.nest
routes -f a.nest --used -o a.nest
tables process -f a.nest -o a.nest
checklist -f a.nest -o a.nest
trace tcp.close -f a.nest -o a.nest
tcplife -f a.nest -o a.nest
export a.nest --format jsonl -o a.nest
report a.nest -o a.nest
report a.nest --html a.nest
report path.nest --compare a.nest -o a.nest
sql a.nest --schema -o a.nest
path -f path.nest -o path.nest
path -f path.nest --svg path.nest
path -f path.nest --html path.nest
path -f path.nest --data path.nest
path -f path.nest --trace path.nest
oops log -o log
oops log -f a.nest -o a.nest
doctor -f doctor.json -o doctor.json
flow info a.trace -o a.trace
flow sessions a.trace --by thread -o a.trace
flow tree a.trace --by thread -o a.trace
flow summary a.trace --by thread -o a.trace
flow compare a.trace --by thread -o a.trace
flow diagram a.trace --by thread -o a.trace
flow export a.trace --by thread --dot -o a.trace
END
ln "$room/a.nest" "$room/other-name.nest"
"$nest" sockets -f a.nest -o other-name.nest 2>/dev/null
is "$?" 5 'nor by another name'
ok 'that is the same file' cmp "$room/a.nest" "$room/kept.nest"

# An old file.
echo old >"$room/old.csv"
chmod 640 "$room/old.csv"
"$nest" sockets --csv -o old.csv --show nosuch 2>/dev/null
is "$?" 2 'a usage error'
is "$(cat "$room/old.csv")" old 'keeps the old file'
"$nest" sockets -f missing.nest --csv -o old.csv 2>/dev/null
is "$(cat "$room/old.csv")" old 'and so does missing input'
"$nest" sockets -f a.nest --csv -o old.csv 2>/dev/null
like "$(head -n 1 "$room/old.csv")" '^netns,family,' 'success replaces it'
is "$(stat -c %a "$room/old.csv")" 640 'with its mode'
"$nest" sockets -f a.nest -o new.txt 2>/dev/null
is "$(stat -c %a "$room/new.txt")" 600 'a new file is private'
echo victim >"$room/victim"
ln -s victim "$room/link"
"$nest" sockets -f a.nest -o link 2>/dev/null
is "$(cat "$room/victim")" victim 'a link is not followed'
ok 'but replaced' test -f "$room/link" -a ! -L "$room/link"
is "$(find "$room" -maxdepth 1 -name '.*.????????????????' | wc -l)" 0 'nothing is left beside'
like "$("$nest" sockets -f a.nest -o /dev/stdout 2>/dev/null | head -n 1)" '^PROTO' 'a device is written directly'

# What is observed live can be followed.
nest_bg trace tcp.state -N "$host" -o "$room/live.txt"
wait_ready "$nest_err"
in_ns "$host" python3 -c 'import socket; socket.socket().connect_ex(("127.0.0.1", 9))'
written() {
	[ -s "$room/live.txt" ]
}
wait_for 20 written
ok 'while it runs' kill -0 "$nest_pid"
kill -INT "$nest_pid"
wait "$nest_pid"

# Input that is no file.
mkfifo "$room/fifo"
for command in 'report fifo' 'flow info fifo' 'flow import fifo -o x' 'sql fifo --schema' 'diagnose -f fifo' \
	'path -f fifo' 'tcplife -f fifo' 'serve -f fifo' 'checklist -f fifo' 'export fifo --format csv' \
	'doctor -f fifo' 'oops fifo' 'oops log -f fifo' 'oops log --debug fifo' 'oops log --btf fifo' \
	'report a.nest --compare fifo' 'flow compare a.trace fifo' 'flow align fifo fifo' 'rules --rules fifo' \
	'agent --config fifo' 'diagnose --past fifo -d 1' 'hardware --root fifo' \
	'serve --tls-cert fifo --tls-key fifo --token-file fifo' \
	'ship a.nest --ship http://127.0.0.1:9/x --ship-ca fifo'; do
	# shellcheck disable=SC2086 # words
	timeout 20 "$nest" $command >/dev/null 2>"$room/err"
	code=$?
	is "$code" 5 "$command ends by itself"
done
reports=$("$nest" oops <(cat log) --json 2>/dev/null)
is "$(grep -c '"kind":"oops"' <<<"$reports")" 1 'a pipe of the shell has a writer and is read'
# 64 GB of nothing: reading them would take minutes.
truncate -s 64G "$room/large"
timeout 20 "$nest" flow info large >/dev/null 2>"$room/err"
is "$?" 5 'a large file that is no trace is refused early'

# Files that shrink.
nest_bg record -N "$host" -o "$room/shm.nest"
wait_ready "$nest_err"
has_samples() {
	[ "$(sqlite3 -readonly "$room/shm.nest" 'SELECT count(*) > 2 FROM sample' 2>/dev/null)" = 1 ]
}
wait_for 20 has_samples
truncate -s 0 "$room/shm.nest-shm"
wait "$nest_pid"
is "$?" 5 'a recorder whose -shm file is truncated ends with 5'
like "$(cat "$nest_err")" 'truncated by another program' 'and says why'

# Kernel stacks without addresses of functions.
sed 's/^[0-9a-f]*/0000000000000000/' /proc/kallsyms >"$room/kallsyms"
# shellcheck disable=SC2016
nest=$nest room=$room host=$host unshare --mount bash -c '
mount --bind "$room/kallsyms" /proc/kallsyms
exec timeout -s KILL 60 "$nest" trace tcp.state -N "$host" --stack -d 3 --json' >"$room/stacks" 2>"$room/err" &
stacks_pid=$!
nest_pid=$stacks_pid
wait_ready "$room/err"
in_ns "$host" python3 -c '
import socket
for i in range(200): socket.socket().connect_ex(("127.0.0.1", 9))'
wait "$stacks_pid"
is "$?" 0 'a run without kernel symbols ends in time'
is "$(grep -c 'kernel functions are shown as addresses' "$room/err")" 1 'says so once'
like "$(head -n 1 "$room/stacks")" '"kstack":\["0x[0-9a-f]{8,}"' 'and shows addresses'

finish
