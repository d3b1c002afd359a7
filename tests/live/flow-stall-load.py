# SPDX-License-Identifier: GPL-2.0-or-later
"""A server that stops reading, recorded, and a client that sends as much as it may: the load of flow-stall.t.

    flow-stall-load.py NEST ROOM WHAT

SIGTERM ends the server, and this program once the trace is finished.
"""
import signal
import socket
import subprocess
import sys
import threading

nest, room, what = sys.argv[1:]
listener = socket.create_server(('127.0.0.1', 0))
with open(f'{room}/{what}.out', 'w', encoding='ascii') as out, open(f'{room}/{what}.err', 'w', encoding='utf-8') as err:
    server = subprocess.Popen([nest, 'flow', 'record', '-o', f'{room}/{what}.trace', '--', f'{room}/server', what],
                              stdin=listener, stdout=out, stderr=err)
signal.signal(signal.SIGTERM, lambda *_: server.terminate())


def send():
    try:
        with socket.create_connection(listener.getsockname()) as s:
            while True:
                s.sendall(b'x' * 16384)
    except OSError:
        pass


threading.Thread(target=send, daemon=True).start()
# A wait that is woken for signals.
while server.poll() is None:
    try:
        server.wait(0.1)
    except subprocess.TimeoutExpired:
        pass
