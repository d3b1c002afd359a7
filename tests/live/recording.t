#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 120
# Recordings of a stalled reader: what was said live is said again from the file, byte by byte, by every command.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3

ns_make client
ns_make server
ns_link "$client" 10.77.0.1/24 "$server" 10.77.0.2/24

bg nsenter --net="/run/netns/$server" -- python3 -c '
import socket
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(("", 5001)); s.listen(5)
print("listening", flush=True)
c, _ = s.accept(); print("accepted", flush=True)
while c.recv(65536): pass' >"$room/server.out"
server_pid=$bg_pid
wait_for 10 grep -q listening "$room/server.out"
bg nsenter --net="/run/netns/$client" -- python3 -c '
import socket, time
s = socket.create_connection(("10.77.0.2", 5001)); data = b"x" * 16384
while True:
    s.sendall(data); time.sleep(0.005)'

wait_for 10 grep -q accepted "$room/server.out"
kill -STOP "$server_pid"
file=$room/stalled.nest
"$nest" diagnose -N "$client" --json -d 5 --save "$file" >"$room/live.json" 2>"$room/live.err"
is "$?" 0 'a diagnosis is saved'
like "$(cat "$room/live.json")" 'peer-not-reading' 'it blames the peer'
"$nest" diagnose -f "$file" --json >"$room/again.json" 2>"$room/again.err"
is "$?" 0 'and read again'
ok 'the verdicts are the same bytes' cmp "$room/live.json" "$room/again.json"
is "$(tail -n 1 "$room/again.err")" "$(tail -n 1 "$room/live.err")" 'so is what was seen and lost'
is "$(find "$room" -name 'stalled*' | wc -l)" 1 'one plain file is left'
is "$(stat -c %a "$file")" 600 'that only its owner can read'
"$nest" diagnose -f "$file" --save "$room/other.nest" >/dev/null 2>"$room/err"
is "$?" 2 '-f and --save do not go together'
"$nest" diagnose -N "$client" -d 3 --save "$file" >/dev/null 2>"$room/err"
is "$?" 5 'a recording is not overwritten'
like "$(cat "$room/err")" 'already exists' 'and the reason is reported'

# Without privilege, somewhere else, from a directory that cannot be written to.
install -d -m 755 "$room/elsewhere"
install -m 444 "$file" "$room/elsewhere/r.nest"
install -m 755 "$nest" "$room/elsewhere/nest"
chmod 755 "$room"
chmod 555 "$room/elsewhere"
(cd / && setpriv --reuid=65534 --regid=65534 --clear-groups "$room/elsewhere/nest" \
	diagnose -f "$room/elsewhere/r.nest" --json) >"$room/nobody.json" 2>/dev/null
ok 'anybody can read it anywhere' cmp "$room/live.json" "$room/nobody.json"

# The other commands show the state as it was.
"$nest" sockets -f "$file" --json --where 'rport == 5001' >"$room/sockets" 2>/dev/null
is "$(grep -c '"state":"ESTABLISHED"' "$room/sockets")" 1 'nest sockets -f shows the connection'
like "$(cat "$room/sockets")" '"comm":"python3"' 'with its owner'
like "$(cat "$room/sockets")" '"cc":"[a-z]+"' 'and what TCP knew'
is "$("$nest" sockets -f "$file" 1 3 --json --where 'rport == 5001' 2>/dev/null | wc -l)" \
	3 'with an interval it goes through the samples'
"$nest" links -f "$file" --json >"$room/links" 2>/dev/null
like "$(cat "$room/links")" '"dev":"lo"' 'nest links -f'
ok 'nest counters -f' grep -q TcpOutSegs <("$nest" counters -f "$file" --json 2>/dev/null)
ok 'nest limits -f' grep -q tcp-memory <("$nest" limits -f "$file" --json 2>/dev/null)
"$nest" watch -f "$file" --json >"$room/watch" 2>/dev/null
like "$(head -n 1 "$room/watch")" '"event":"begin","cause":"peer-not-reading"' 'nest watch -f tells when it began'
"$nest" routes -f "$file" >/dev/null 2>"$room/err"
is "$?" 5 'what was not recorded is not made up'
like "$(cat "$room/err")" 'has no table route' 'and that is said'
is "$("$nest" diagnose -f "$file" --json --from +2s 2>/dev/null | wc -l)" 1 '--from begins later'
"$nest" diagnose -f "$file" --from +1h >/dev/null 2>"$room/err"
is "$?" 5 'a time beyond its end'
like "$(cat "$room/err")" '0 samples are too few' 'is reported'

# Whatever looks can be kept and read again.
"$nest" sockets -N "$client" --json --save "$room/sockets.nest" >"$room/sockets" 2>/dev/null
ok 'nest sockets --save' cmp "$room/sockets" <("$nest" sockets -f "$room/sockets.nest" --json 2>/dev/null)
"$nest" watch -N "$client" -d 4 --json --save "$room/watch.nest" >"$room/watch" 2>/dev/null
ok 'nest watch --save' cmp "$room/watch" <("$nest" watch -f "$room/watch.nest" --json 2>/dev/null)

finish
