#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""TCP connections over loopback, with a request and an answer per PERIOD each: agent-hold.py CONNECTIONS PERIOD"""
import os
import signal
import socket
import sys
import time

STEPS = 100
EACH = 4000  # of a process, which may not open more than 10,000 files


def hold(number, count, ready):
    listener = socket.create_server(("127.0.0.1", 7001 + number), backlog=4096)
    pairs = []
    for _ in range(count):
        client = socket.create_connection(listener.getsockname())
        pairs.append((client, listener.accept()[0]))
    os.write(ready, b"x")
    begin, step = time.monotonic(), 0
    while True:
        for client, server in pairs[step % STEPS :: STEPS]:
            client.send(b"request")
            server.recv(100)
            server.send(b"answer")
            client.recv(100)
        step += 1
        time.sleep(max(0.0, begin + step * period / STEPS - time.monotonic()))


connections, period = int(sys.argv[1]), float(sys.argv[2])
reader, writer = os.pipe()
children = []
# The processes end with this one.
signal.signal(signal.SIGTERM, lambda *_: ([os.kill(child, signal.SIGKILL) for child in children], os._exit(0)))
for number in range(max((connections + EACH - 1) // EACH, 1)):
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        hold(number, min(EACH, connections - number * EACH), writer)
    children.append(child)
for _ in children:
    os.read(reader, 1)
print("ready", flush=True)
signal.pause()
