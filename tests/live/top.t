#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 240
# nest top on the running kernel, in a terminal (tmux): what it shows beside ss, commands inside it, resizing,
# suspending, and that it leaves the terminal and the host as they were.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd tmux ss python3

ns_make a
in_ns "$a" ip link set lo up
export XDG_CONFIG_HOME=$room/config
socket=nest-live-$$
terminal() {
	tmux -L "$socket" -f /dev/null "$@"
}
show() {
	terminal capture-pane -p -t top
}
shows() {
	show | grep -qE -- "$1"
}
press() {
	terminal send-keys -t top "$@"
}
seen() {
	if wait_for "$1" shows "$2"; then
		pass "$3"
	else
		fail "$3"
		diag "$(show)"
	fi
}

# A connection that carries 100 kB/s, and a listener.
in_ns "$a" python3 -c '
import os, socket, time
l = socket.create_server(("127.0.0.1", 7001))
c = socket.create_connection(("127.0.0.1", 7001))
s = l.accept()[0]
print("ready", os.getpid(), flush=True)
while True:
    c.sendall(b"x" * 10000)
    n = 0
    while n < 10000:
        n += len(s.recv(10000))
    time.sleep(0.1)
' >"$room/load" 2>&1 &
note_process $!
wait_for 20 grep -q ready "$room/load" || fail 'traffic'
load=$(awk '{print $2}' "$room/load")
note_process "$load"

terminal new-session -d -s top -x 120 -y 36 "exec bash --norc"
note_process "$(terminal display-message -p '#{pid}')"
press "cd '$room'; export TERM=screen-256color TMPDIR='$room' XDG_CONFIG_HOME='$room/config' PS1='prompt '; clear" Enter
press "'$nest' top -N $a 2>'$room/err'" Enter
seen 40 '^ nest top .*(no finding|findings?)' 'the diagnosis has a verdict'
press 2
seen 20 'connections  [0-9]+ rows' 'the connections'
port=$(in_ns "$a" ss -Htn state established 'sport = :7001' | awk '{sub(".*:", "", $4); print $4}')
seen 20 "^ *$load python3 +ESTABLISHED 127.0.0.1 +$port +[0-9.]+ kB/s" \
	'the server with the port and process that ss shows, and a rate'
press t
seen 20 'python3 \([0-9]+\)' 'a tree by program'
press t
press '\'
press 'lport == 7001 and state == ESTABLISHED' Enter
seen 20 '1 of [0-9]+ rows' 'a filter'
press Enter
seen 20 'Over time' 'details'
press BSpace
press 8
seen 20 "127.0.0.1 +7001 +0 +[0-9]+ +$load python3" 'the listener'
press 3
seen 20 "^ *$load python3" 'the program'

# The mouse, as the terminal reports it: button, column and line plus 33. A tab, then a heading.
click() {
	terminal send-keys -t top -H 1b 5b 4d 20 "$1" "$2"
	terminal send-keys -t top -H 1b 5b 4d 23 "$1" "$2"
}
click 2d 22
seen 20 'connections  [0-9]+ of [0-9]+ rows' 'a click on a tab shows its page'
click 24 24
seen 20 'by pid' 'a click on a heading sorts'

# A command inside, on the same namespace; it ends with its page.
press :
press 'tcplife' Enter
seen 30 'nest tcplife .*running' 'a tool runs inside the screen'
seen 30 'nest: ready' 'and is attached'
wait_for 20 pgrep -f "nest tcplife -N $a" >/dev/null
inside=$(pgrep -f "nest tcplife -N $a" | head -1)
in_ns "$a" python3 -c 'import socket
c = socket.create_connection(("127.0.0.1", 7001)); c.close()'
seen 30 'python3 .* 7001' 'and shows what happens'
press H
seen 30 'trace tcp.close --hist .* --format heat 1' 'as a heat map over time'
seen 30 'nest: ready' 'and is attached again'
in_ns "$a" python3 -c 'import socket
c = socket.create_connection(("127.0.0.1", 7001)); c.close()'
seen 30 '[0-9:]+ \|.*\| +[1-9]' 'with the connection in it'
press BSpace
gone() {
	! kill -0 "$1" 2>/dev/null
}
ok 'its process has ended with the page' wait_for 10 gone "$inside"

# Any size, at once.
for size in 80x24 20x5 200x50 1x1 132x43; do
	terminal resize-window -t top -x "${size%x*}" -y "${size#*x}"
done
terminal resize-window -t top -x 100 -y 30
press 1
seen 20 'Interfaces' 'after resizing'

# The last minutes as a recording.
press S
seen 10 'Save recording as' 'asks for a file'
press "$room/last.nest" Enter
seen 20 'saved .*last.nest' 'saved'
"$nest" sockets -f "$room/last.nest" --json --where 'lport == 7001 and state == LISTEN' \
	>"$room/sockets.json" 2>/dev/null
is "$(wc -l <"$room/sockets.json")" 1 'the recording has the listener'
is "$(stat -c %a "$room/last.nest")" 600 'for its owner alone'

# Suspended and continued.
press C-z
seen 20 'Stopped' 'Ctrl-Z gives the shell back'
press 'fg' Enter
seen 20 'Interfaces' 'fg brings the screen back'
press q
seen 20 '^prompt *$' 'q ends it'
press 'echo ended with $?' Enter
seen 20 'ended with 0' 'with code 0'
press 'stty -a | tr ";" "\n" | grep -oE " -?(echo|icanon)\b" | tr -d "\n"; echo .' Enter
seen 10 '^ icanon echo\.|^ echo icanon\.' 'the terminal has its modes back'
is "$(find "$room" -maxdepth 1 -name 'nest-top-*' | wc -l)" 0 'no temporary file is left'

# Ended by a signal, and by the loss of its terminal.
press "clear; '$nest' top -N $a 2>'$room/err'" Enter
seen 30 'nest top ' 'again'
wait_for 20 pgrep -f "nest top -N $a" >/dev/null
kill -TERM "$(pgrep -f "^[^ ]*nest top -N $a" | head -1)"
seen 20 '^prompt *$' 'SIGTERM ends it'
press 'echo ended with $?' Enter
seen 20 'ended with 0' 'with code 0, as it was asked to'
press "clear; '$nest' top -N $a 2>'$room/err'" Enter
seen 30 'nest top ' 'once more'
last=$(pgrep -f "^[^ ]*nest top -N $a" | head -1)
terminal kill-server
ok 'it ends when the terminal is gone' wait_for 20 gone "$last"
is "$(find "$room" -maxdepth 1 -name 'nest-top-*' | wc -l)" 0 'and leaves no file'

# Without privileges it says what is missing.
if id nobody >/dev/null 2>&1; then
	cp "$nest" "$room/nest" && chmod 755 "$room" "$room/nest"
	terminal new-session -d -s top -x 120 -y 36 \
		"setpriv --reuid=65534 --regid=65534 --clear-groups \
		env HOME=/ XDG_CONFIG_HOME=/nonexistent TERM=screen-256color '$room/nest' top"
	note_process "$(terminal display-message -p '#{pid}')"
	seen 40 'not seen: ' 'an unprivileged user reads what is not seen'
	terminal kill-server
fi
finish
