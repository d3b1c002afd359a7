#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What a received reset followed, as its server decides it: nothing, a request, an answer, the middle of a conversation.
. "$(dirname "$0")/lib.sh"
require_cmd python3

ns_make ns
nest_bg tcpreset --json --where 'dir == rx' -N "$ns"
wait_ready "$nest_err" || exit 1
in_ns "$ns" python3 - >"$room/ports" <<'PY'
import socket, struct, threading, time

NOW = struct.pack('ii', 1, 0)  # SO_LINGER: close with a reset

def serve(listener, exchanges, pause):
    client, _ = listener.accept()
    for i in range(abs(exchanges)):
        client.recv(100)
        if exchanges > 0:
            client.sendall(b'x' * 3000)
    time.sleep(pause)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NOW)
    client.close()

# Requests (negative: without an answer), the pause before the reset, what nest is to say.
CASES = [(0, 0.05, 'nothing'), (-1, 0.05, 'sending'), (1, 0.1, 'answer'), (8, 0.1, 'receiving'), (8, 5, 'answer')]
threads, clients = [], []
for exchanges, pause, after in CASES:
    listener = socket.create_server(('127.0.0.1', 0))
    port = listener.getsockname()[1]
    threads.append(threading.Thread(target=serve, args=(listener, exchanges, pause)))
    threads[-1].start()
    client = socket.create_connection(('127.0.0.1', port))
    for i in range(abs(exchanges)):
        client.sendall(b'request')
        left = 3000 if exchanges > 0 else 0
        while left:
            left -= len(client.recv(left))
    clients.append(client)
    print(port, after)
for thread in threads:
    thread.join()
closed = socket.create_server(('127.0.0.1', 0))
port = closed.getsockname()[1]
closed.close()
try:
    socket.create_connection(('127.0.0.1', port))
except ConnectionRefusedError:
    print(port, 'syn')
PY
wait_for 5 eval '[ "$(wc -l <"$nest_out")" -ge 6 ]'
end_bg "$nest_pid"
python3 - "$nest_out" >"$room/reported" <<'PY'
import json, sys
for line in open(sys.argv[1]):
    event = json.loads(line)
    if 'rport' in event:
        print(event['rport'], event['after'])
PY
compare "$(wc -l <"$room/ports")" -eq 6 'all connections were made'
is "$(sort "$room/reported")" "$(sort "$room/ports")" 'what each reset followed'
finish
