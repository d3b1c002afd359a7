#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Holds TCP connections over loopback, some of them busy: load-hold.py SOCKETS BUSY. Prints "ready" when all are there.

Several processes: one may not open as many files, and a local address has ports for 20,000 connections to a listener.
"""
import os
import resource
import signal
import socket
import sys
import time

EACH = 10000


def hold(number, sockets, busy, ready):
    listener = socket.socket()
    listener.bind((f"127.0.1.{number + 1}", 7000))
    listener.listen(1000)
    pairs = []
    for _ in range(sockets // 2):
        client = socket.socket()
        client.bind((f"127.0.2.{number + 1}", 0))
        client.connect(listener.getsockname())
        pairs.append((client, listener.accept()[0]))
    os.write(ready, b"x")
    while True:
        # A request and an answer on each busy connection, ten times per second.
        begin = time.monotonic()
        for client, server in pairs[: busy // 2]:
            client.send(b"request")
            server.recv(100)
            server.send(b"answer")
            client.recv(100)
        time.sleep(max(0.0, 0.1 - (time.monotonic() - begin)))


sockets, busy = int(sys.argv[1]), int(sys.argv[2])
limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
each = min(EACH, limit - 100)
reader, writer = os.pipe()
children = []
# The processes end with this one.
signal.signal(signal.SIGTERM, lambda *_: ([os.kill(child, signal.SIGKILL) for child in children], os._exit(0)))
for number in range((sockets + each - 1) // each):
    share = min(each, sockets - number * each)
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        hold(number, share, busy if number == 0 else 0, writer)
    children.append(child)
for _ in children:
    os.read(reader, 1)
print("ready", flush=True)
signal.pause()
