#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Two connections within a host whose reader does not read, seen after they got stuck, with privilege and without: the
# program is at fault, or the other end where programs are not known, and not the path inside the host.
# runs beside others
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3 setpriv

ns_make net
cat >"$room/unread.py" <<'END_OF_PYTHON'
import socket, threading, time
listener = socket.create_server(("127.0.0.1", 0))
clients = [socket.create_connection(listener.getsockname()) for _ in range(2)]
def write():
    connection, _ = listener.accept()
    connection.sendall(bytes(1 << 26))
for _ in clients:
    threading.Thread(target=write, daemon=True).start()
print("ready", flush=True)
time.sleep(60)
END_OF_PYTHON
in_ns "$net" python3 "$room/unread.py" >"$room/ready" &
note_process "$!"
wait_for 20 grep -q ready "$room/ready"
# Two timeouts of the zero window probe, which backs off as a retransmission does.
has_backed_off() { in_ns "$net" ss -tino | grep -q 'backoff:[2-9]'; }
wait_for 20 has_backed_off

"$nest" diagnose -N "$net" -d 2 --json >"$room/root" 2>/dev/null
is "$(causes "$room/root" 1)" app-not-reading 'with privilege: the program'
unlike "$(cat "$room/root")" path-blackhole 'and not the path'
in_ns "$net" setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all \
	"$nest" diagnose -d 2 --json >"$room/nobody" 2>/dev/null
is "$(causes "$room/nobody" 1)" peer-not-reading 'without privilege: the other end'
unlike "$(cat "$room/nobody")" path-blackhole 'and not the path'
finish
