#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Network system calls of many kinds, one after the other in one thread; prints what it knows about them."""
import json
import os
import socket
import struct
import sys


def refused(function, *args):
    try:
        function(*args)
    except OSError:
        return
    sys.exit("a call that must fail did not")


listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("127.0.0.1", 0))
listener.listen(7)
client = socket.socket()
client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
client.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 16)
client.connect(listener.getsockname())
server, _ = listener.accept()
client.sendall(b"x" * 7919)
left = 7919
while left:
    left -= len(server.recv(left))
with open(sys.argv[0], "rb") as own:
    os.sendfile(client.fileno(), own.fileno(), 0, 137)
server.recv(137, socket.MSG_WAITALL)
# Nothing comes: the call itself lasts 60 ms, and fails.
client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, 60000))
refused(client.recv, 1)
client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
client.shutdown(socket.SHUT_WR)
refused(socket.socket().connect, ("127.0.0.1", 1))
six = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
six.sendto(b"q" * 37, ("::1", six.getsockname()[1] or 9))
refused(socket.socket(socket.AF_UNIX).connect, "/nonexistent/nest")
refused(socket.socket, socket.AF_INET, socket.SOCK_STREAM, 99)
one, two = socket.socketpair()
one.sendmsg([b"hello"])
two.recvmsg(100, 0, socket.MSG_DONTWAIT)
json.dump({"listener": listener.getsockname()[1], "client": client.getsockname()[1]}, sys.stdout)
