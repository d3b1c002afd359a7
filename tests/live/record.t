#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 120
# nest record: a moving window, marks, the time around findings, a command, a full disk;
# and nest sql over what it wrote.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3
require_cmd sqlite3

sql() {
	"$nest" sql "$1" "$2" --json 2>/dev/null
}

ns_make host
ns_make busy
ns_make stalled

# What takes long and needs no look goes on beside the rest, each in a namespace of its own.
cat >"$room/talk.py" <<'END'
import socket, time
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(9)
pairs = []
for i in range(200):
    c = socket.create_connection(s.getsockname()); pairs.append((c, s.accept()[0]))
end = time.time() + 9
while time.time() < end:
    for c, a in pairs: c.send(b"x" * 100); a.recv(100)
    time.sleep(0.05)
END
"$nest" record -o "$room/size.nest" -N "$busy" --size 2MB -- \
	nsenter --net="/run/netns/$busy" -- python3 "$room/talk.py" 2>/dev/null &
size_pid=$!
cat >"$room/stall.py" <<'END'
import socket, time
time.sleep(5)
s = socket.create_server(("127.0.0.1", 5077)); c = socket.create_connection(s.getsockname()); a, _ = s.accept()
c.settimeout(4)
try:
    while True: c.sendall(b"x" * 65536)
except socket.timeout: pass
c.close(); a.close(); time.sleep(6)
END
"$nest" record -o "$room/stall.nest" -N "$stalled" --on-finding 0.5 --before 1 --after 1 2>/dev/null -- \
	nsenter --net="/run/netns/$stalled" python3 "$room/stall.py" &
stall_pid=$!
"$nest" record -o "$room/quiet.nest" -N "$host" -d 6 --on-finding 0.5 --before 2 2>/dev/null &
quiet_pid=$!
mkdir "$room/disk"
# shellcheck disable=SC2016
nest=$nest room=$room host=$host unshare --mount bash -c '
mount -t tmpfs -o size=800k none "$room/disk"
"$nest" record -o "$room/disk/r.nest" -N "$host" -d 30 2>"$room/disk.err" -- \
	sh -c "cd \"$room/disk\"
	until [ \"\$(sqlite3 -readonly r.nest \"SELECT count(*) > 2 FROM sample\" 2>/dev/null)\" = 1 ]; do
		sleep 0.2
	done
	dd if=/dev/zero of=\"$room/disk/fill\" bs=1k 2>/dev/null; sleep 20"
code=$?
rm -f "$room/disk/fill"
cp "$room/disk/"r.nest* "$room/"
exit "$code"' &
disk_pid=$!

# While a command runs.
"$nest" record -o "$room/command.nest" -N "$host" -- sleep 3 >"$room/out" 2>"$room/err"
is "$?" 0 'a command is recorded'
like "$(tail -n 1 "$room/err")" '^nest: [0-9]+ events, 0 lost' 'the closing line counts'
is "$(sql "$room/command.nest" 'SELECT count(*) BETWEEN 4 AND 20 AS n FROM sample')" '{"n":1}' 'for as long as it ran'
"$nest" record -o "$room/none.nest" -- /nonexistent/command >/dev/null 2>"$room/err"
like "$(cat "$room/err")" 'cannot run /nonexistent/command: No such file' 'a command that cannot be run is reported'
"$nest" record >/dev/null 2>"$room/err"
is "$?" 2 'a recording needs a file'
"$nest" record -o "$room/nowhere.nest" -N no-such-namespace >/dev/null 2>"$room/err"
is "$?" 2 'a namespace that is not there cannot be recorded'
ok 'and leaves no file' test ! -e "$room/nowhere.nest"

# A moving window, and marks.
nest_bg record -o "$room/window.nest" -N "$host" --age 3
wait_ready "$nest_err"
long_enough() {
	[ "$(sqlite3 -readonly "$room/window.nest" 'SELECT max(id) - min(id) > 2500 FROM sample' 2>/dev/null)" = 1 ]
}
wait_for 10 long_enough
"$nest" snapshot -p "$nest_pid" 2>"$room/err"
is "$?" 0 'nest snapshot finds the recorder'
is "$(cat "$room/err")" 'nest: marked this moment in 1 recording' 'and says so'
marked() {
	[ "$(sqlite3 -readonly "$room/window.nest" 'SELECT count(*) FROM mark' 2>/dev/null)" = 1 ]
}
wait_for 10 marked
kill -INT "$nest_pid"
wait "$nest_pid"
is "$?" 0 'a recording without an end is ended by a signal'
is "$(sql "$room/window.nest" "SELECT label FROM mark")" '{"label":"SIGUSR2"}' 'the mark is in the file'
is "$(sql "$room/window.nest" 'SELECT max(id) - min(id) BETWEEN 1500 AND 4500 AS n FROM sample')" \
	'{"n":1}' 'the window is as long as was asked for'
"$nest" snapshot -p 1 2>/dev/null
is "$?" 3 'a process that does not record is left alone'

# A window by size: a connection whose counters move all the time fills the file.
wait "$size_pid"
is "$?" 0 'a recording with a limit'
ok 'is not much larger than that' test "$(stat -c %s "$room/size.nest")" -lt 3000000
is "$(sql "$room/size.nest" 'SELECT max(id) - min(id) BETWEEN 1000 AND 8000 AS n FROM sample')" \
	'{"n":1}' 'has forgotten its beginning'
is "$(sql "$room/size.nest" 'SELECT count(*) > 100 AS n FROM counter WHERE last > 140000000000000')" \
	'{"n":1}' 'and still knows what holds'

# Around findings only: nothing is found here, so only the last moments stay.
wait "$quiet_pid"
is "$?" 0 'a recording of findings'
is "$(sql "$room/quiet.nest" 'SELECT max(id) - min(id) < 3500 AS n FROM sample')" \
	'{"n":1}' 'forgets what nobody asked about'

# And where something is found: the moments around it stay, the quiet before and after does not.
wait "$stall_pid"
is "$?" 0 'a recording of a stall'
like "$(sql "$room/stall.nest" 'SELECT DISTINCT cause FROM finding')" app-not-reading 'holds the finding'
sample='SELECT id, (SELECT min(time_ns) / 1000000 FROM finding) AS begin,
	(SELECT max(time_ns) / 1000000 FROM finding) AS end FROM sample'
is "$(sql "$room/stall.nest" "SELECT sum(id BETWEEN begin - 1000 AND begin) > 2 AS before,
	sum(id BETWEEN begin AND end) > 4 AS during,
	sum(id BETWEEN end AND end + 1000) > 2 AS after FROM ($sample)")" \
	'{"before":1,"during":1,"after":1}' 'and the moments around it'
is "$(sql "$room/stall.nest" "SELECT sum(id < begin - 2500) AS before,
	sum(id > end + 2500 AND id < (SELECT max(id) FROM sample) - 2500) AS after FROM ($sample)")" \
	'{"before":0,"after":0}' 'and not the quiet before and after'

# A full disk, which is gone with the mount namespace.
wait "$disk_pid"
is "$?" 5 'a full disk ends the recording'
like "$(cat "$room/disk.err")" 'no space left; the recording so far is kept' 'with a clear message'
is "$(sql "$room/r.nest" 'SELECT count(*) > 0 AS n FROM sample')" '{"n":1}' 'and what is there can be read'

# SQL, in nest and in the shell.
is "$(sql "$room/window.nest" "SELECT count(*) > 50 AS n FROM \"column\" WHERE \"table\" = 'tcp'")" \
	'{"n":1}' 'columns are documented'
like "$("$nest" sql "$room/window.nest" --schema 2>/dev/null)" \
	'tcp +srtt_ns +nanoseconds +- +smoothed RTT' '--schema shows them'
is "$(sqlite3 "$room/window.nest" \
	"SELECT count(DISTINCT time) > 5, max(time) LIKE '20__-__-__ __:__:__.___' FROM v_counter")" \
	'1|1' 'the shell sees readable times'
for query in 'DELETE FROM sample' 'CREATE TABLE x (a)' 'PRAGMA journal_mode = WAL' \
	"ATTACH '$room/x' AS x" "SELECT load_extension('x')" 'SELECT 1; SELECT 2' 'nonsense' ''; do
	"$nest" sql "$room/window.nest" "$query" >/dev/null 2>"$room/err"
	is "$?" 2 "refused: $query"
done
endless='WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c'
"$nest" sql "$room/window.nest" "$endless" --timeout 0.3 >/dev/null 2>"$room/err"
is "$?" 5 'a question without an end is ended'
sqlite3 "$room/window.nest" "CREATE VIEW evil AS SELECT hex(randomblob(100)) FROM sample; DROP VIEW v_mark;
	CREATE VIEW v_mark AS SELECT 'not so' AS label"
"$nest" sql "$room/window.nest" 'SELECT * FROM evil' >/dev/null 2>"$room/err"
is "$?" 2 'a view of the file is not used'
is "$(sql "$room/window.nest" 'SELECT label FROM v_mark')" '{"label":"SIGUSR2"}' "nest's own is"

finish
