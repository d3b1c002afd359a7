#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 120
# A look that begins after the fault: with the past of a recorder, without it, and when a fact needs neither.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3

cat >"$room/load.py" <<'END'
import socket, sys, time
role, address, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
if role == "server":
    s = socket.create_server((address, port))
    print("ready", flush=True)
    c, _ = s.accept()
    while data := c.recv(1000):
        c.sendall(data)
elif role == "client":
    c = socket.create_connection((address, port))
    print("ready", flush=True)
    while True:
        c.sendall(b"x" * 50)
        c.recv(1000)
        time.sleep(0.01)
else:
    c = socket.create_connection((address, port))
    while True:
        c.sendall(b"x" * 50000)
        time.sleep(0.01)
END

ns_make here
ns_make there
ns_link "$here" 10.96.1.1/24 "$there" 10.96.1.2/24
nsenter --net="/run/netns/$there" -- python3 "$room/load.py" server 10.96.1.2 5001 >"$room/server" 2>/dev/null \
	</dev/null &
server=$!
note_process "$server"
wait_for 20 grep -q ready "$room/server" || exit 1
bg in_ns "$here" python3 "$room/load.py" client 10.96.1.2 5001
# Runs in another namespace than the looks: what counts is which ones it records.
"$nest" record -o "$room/past.nest" -N "$here" --age 5m 2>"$room/record.err" &
recorder=$!
note_process "$recorder"
wait_ready "$room/record.err"
pause 6
kill -STOP "$server"
pause 4

look() {
	in_ns "$here" "$nest" diagnose -d 3 --json "$@" 2>/dev/null | tail -n 1
}
first() {
	from_json 'j["findings"][0]["cause"] if j["findings"] else "none"' <"$1"
}
look >"$room/with.json" &
with=$!
look --past none >"$room/without.json" &
without=$!
look --past "$room/past.nest" >"$room/file.json"
wait "$with" "$without"
is "$(first "$room/with.json")" peer-slow 'a look after the fault finds the recorder and knows that answers came'
is "$(first "$room/file.json")" peer-slow '--past FILE: the same'
compare "$(from_json 'j["baseline_s"]' <"$room/with.json")" -ge 5 'baseline_s is what the recorder has seen'
is "$(from_json 'j["baseline_s"]' <"$room/without.json")" 0 '--past none: baseline_s is 0'
like "$(in_ns "$here" "$nest" diagnose -d 1 2>/dev/null)" "baseline: [0-9]+ (s|min) of $room/past.nest" \
	'the text says what it compares with'
chmod o+w "$room/past.nest"
is "$(look | from_json 'j["baseline_s"]')" 0 'a file that others may write is not used'
chmod o-w "$room/past.nest"
kill "$recorder"
wait "$recorder"
is "$(look | from_json 'j["baseline_s"]')" 0 'no recorder: no past'

# --past of another host
cp "$room/past.nest" "$room/other.nest"
sqlite3 "$room/other.nest" "update host set boot_id = 'another'" 2>/dev/null
in_ns "$here" "$nest" diagnose -d 1 --past "$room/other.nest" >/dev/null 2>"$room/err"
is "$?" 5 '--past of another boot: exit 5'
like "$(cat "$room/err")" 'another host, or before the last boot' 'and the reason'
in_ns "$here" "$nest" diagnose -d 1 --past "$room/missing.nest" >/dev/null 2>"$room/err"
is "$?" 5 '--past of a missing file: exit 5'

# A fact: the reader is stopped with data in its receive queue. It needs no past, and one window is enough where nothing
# else is wrong.
kill -CONT "$server"
sink "$here" 10.96.1.1 5002
bg in_ns "$there" python3 "$room/load.py" source 10.96.1.1 5002
wait_for 20 grep -q "^State:.*S" "/proc/$sink_pid/status"
pause 1
kill -STOP "$sink_pid"
pause 2
in_ns "$here" "$nest" diagnose --measures "$room/measures" >"$room/text" 2>/dev/null
like "$(head -n 1 "$room/text")" '^app-not-reading' 'a stopped reader is to blame'
is "$(figures "$room/measures" 'len({x["start_ns"] for x in r})')" 1 'a fact is reported after the first window'
in_ns "$here" "$nest" diagnose -d 3 --json >"$room/facts.json" 2>/dev/null
is "$(figures "$room/facts.json" 'len(r), r[0]["findings"][0]["cause"], r[0]["window_ms"] < 2000')" \
	"(3, 'app-not-reading', True)" '-d 3: objects before the third window hold the fact'
finish
