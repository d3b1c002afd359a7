# SPDX-License-Identifier: GPL-2.0-or-later
"""Connections that come and go: churn.py PORT RATE. Each asks for a few bytes. SIGTERM: prints their number."""
import json
import signal
import socket
import sys
import threading
import time

PORT = int(sys.argv[1])
rate, done = float(sys.argv[2]), threading.Event()
signal.signal(signal.SIGTERM, lambda *_: done.set())


def serve(listener):
    while True:
        connection = listener.accept()[0]
        with connection:
            wanted = connection.recv(100)
            connection.sendall(b"x" * (len(wanted) * 100))
            connection.recv(100)


server = socket.create_server(("127.0.0.1", PORT), backlog=100)
for _ in range(4):
    threading.Thread(target=serve, args=(server,), daemon=True).start()
count, received, begin = 0, 0, time.monotonic()
print("ready", flush=True)
while not done.is_set():
    with socket.create_connection(("127.0.0.1", PORT)) as client:
        client.sendall(b"?" * (1 + count % 50))
        left = 100 * (1 + count % 50)
        while left > 0:
            left -= len(client.recv(65536))
        received += 100 * (1 + count % 50)
    count += 1
    done.wait(max(0.0, begin + count / rate - time.monotonic()))
print(json.dumps({"connections": count, "received": received}), flush=True)
