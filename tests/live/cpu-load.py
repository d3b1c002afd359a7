#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Takes CPU time, with the network (net) or without (burn), and prints how much it took in nanoseconds."""
import os
import socket
import sys

seconds = float(sys.argv[2])
if sys.argv[1] == "net":
    a = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    a.bind(("127.0.0.1", 0))
    b = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    b.connect(a.getsockname())


def taken():
    times = os.times()
    return times.user + times.system


while taken() < seconds:
    for _ in range(200):
        if sys.argv[1] == "net":
            b.send(b"x" * 64)
            a.recv(100)
print(os.getpid(), int(taken() * 1e9))
