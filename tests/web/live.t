#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 240
# The page of a live host in which an application stops reading: the verdict appears by itself, and leads to the
# connection and to the rows of a tool.
. "$(dirname "$0")/../live/lib.sh"
require_root
require_cmd python3 node chromium

ns_make host
in_ns "$host" ip link set lo up
# Sends as much as it can to a reader that reads until it is asked to stop, and connects once per second.
cat >"$room/load.py" <<'PYTHON'
import os, signal, socket, sys, threading, time
listener = socket.create_server(("127.0.0.1", 7001))
sender = socket.create_connection(("127.0.0.1", 7001))
reader = listener.accept()[0]
stopped = threading.Event()
signal.signal(signal.SIGUSR1, lambda *_: stopped.set())
def send():
    while True:
        sender.sendall(b"x" * 20000)
        time.sleep(0.005)
def connect():
    while True:
        socket.create_connection(("127.0.0.1", 7001)).close()
        listener.accept()[0].close()
        time.sleep(0.5)
threading.Thread(target=send, daemon=True).start()
threading.Thread(target=connect, daemon=True).start()
print("ready", os.getpid(), flush=True)
while True:
    if stopped.is_set():
        time.sleep(1)
    else:
        reader.recv(1 << 20)
PYTHON
in_ns "$host" python3 "$room/load.py" >"$room/load" 2>&1 &
note_process $!
wait_for 20 grep -q ready "$room/load" || fail 'traffic'
load=$(awk '{print $2}' "$room/load")
note_process "$load"
# It prints the plan and the result of every check.
mkdir "$room/saved"
exec node "$(dirname "$0")/live.mjs" "$host" "$load" "$room/saved"
