#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Traffic that writes down when it made progress, on a clock of its own.

    interruption-load.py sink ADDRESS PORT [RCVBUF]     reads all connections
    interruption-load.py steady ADDRESS PORT            sends 4 kB every 5 ms
    interruption-load.py bulk ADDRESS PORT              sends as fast as it can
    interruption-load.py chunks ADDRESS PORT            sends 300 kB every second, as video does
    interruption-load.py chat ADDRESS PORT              sends 100 bytes every 100 ms
    interruption-load.py batch ADDRESS PORT             sends for a second, rests for a second

A sink prints the pauses of 250 ms or more between two reads of one connection: begin and length in seconds of
CLOCK_REALTIME.
"""

import select
import socket
import sys
import time

role, address, port, *more = sys.argv[1:]


def sink():
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if more:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, int(more[0]))
    listener.bind((address, int(port)))
    listener.listen()
    print("ready", flush=True)
    last = {}
    while True:
        ready, _, _ = select.select([listener, *last], [], [])
        for s in ready:
            if s is listener:
                last[s.accept()[0]] = None
                continue
            if not s.recv(65536):
                del last[s]
                s.close()
                continue
            now = time.time()
            if last[s] and now - last[s] >= 0.25:
                print(f"{last[s]:.3f} {now - last[s]:.3f}", flush=True)
            last[s] = now


def send(size, every, span=None, rest=0):
    s = socket.create_connection((address, int(port)))
    print("ready", flush=True)
    begun = time.monotonic()
    while True:
        s.sendall(b"x" * size)
        time.sleep(every)
        if span and time.monotonic() - begun > span:
            time.sleep(rest)
            begun = time.monotonic()


try:
    if role == "sink":
        sink()
    send(*{"steady": (4000, 0.005), "bulk": (65536, 0), "chunks": (300000, 1), "chat": (100, 0.1),
           "batch": (4000, 0.005, 1, 1)}[role])
except (OSError, KeyboardInterrupt):
    pass
