#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Holds sockets of many kinds for the tests of the snapshot, prints "ready", and waits for the end of its input."""
import ctypes
import os
import socket
import struct
import sys
import threading

kept = []


def keep(s):
    kept.append(s)
    return s


def pair(family, address, cc=None):
    """A connection with both ends here."""
    listener = keep(socket.socket(family, socket.SOCK_STREAM))
    if cc:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc)
    listener.bind((address, 0))
    listener.listen(7)
    client = keep(socket.socket(family, socket.SOCK_STREAM))
    if cc:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc)
    client.connect(listener.getsockname()[:2])
    server, _ = listener.accept()
    return client, keep(server)


# One of each congestion control that this kernel lets us have, with some data through it.
for name in open("/proc/sys/net/ipv4/tcp_available_congestion_control").read().split():
    client, server = pair(socket.AF_INET, "127.0.0.1", name.encode())
    client.sendall(b"x" * 5000)
    server.recv(5000, socket.MSG_WAITALL)
    server.sendall(b"y" * 300)
    client.recv(300, socket.MSG_WAITALL)
# Data that nobody reads, and a sender that is stuck.
client, server = pair(socket.AF_INET, "127.0.0.1")
server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
client.setblocking(False)
try:
    while True:
        client.send(b"z" * 65536)
except BlockingIOError:
    pass
# IPv6, and IPv4 through an IPv6 socket.
client, server = pair(socket.AF_INET6, "::1")
client.sendall(b"six")
dual = keep(socket.socket(socket.AF_INET6, socket.SOCK_STREAM))
dual.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
dual.bind(("::", 0))
dual.listen(3)
mapped = keep(socket.create_connection(("127.0.0.1", dual.getsockname()[1])))
keep(dual.accept()[0])
# A listener whose queue holds two that were not accepted.
busy = keep(socket.socket())
busy.bind(("127.0.0.1", 0))
busy.listen(5)
for _ in range(2):
    keep(socket.create_connection(busy.getsockname()))
# Half closed both ways.
client, server = pair(socket.AF_INET, "127.0.0.1")
client.shutdown(socket.SHUT_WR)
# UDP: bound, connected, with datagrams waiting, one that has dropped some.
udp = keep(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
udp.bind(("127.0.0.1", 0))
peer = keep(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
peer.connect(udp.getsockname())
peer.send(b"d" * 100)
full = keep(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
full.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2304)
full.bind(("127.0.0.1", 0))
for _ in range(20):
    peer.sendto(b"e" * 1000, full.getsockname())
udp6 = keep(socket.socket(socket.AF_INET6, socket.SOCK_DGRAM))
udp6.bind(("::1", 0))
# Marked and with a type of service.
marked = keep(socket.socket())
marked.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, 0x2A)
marked.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 0x10)
marked.bind(("127.0.0.1", 0))
marked.listen(1)
# A name of control characters, and a thread that waits in recv on a known descriptor.
ctypes.CDLL(None).prctl(15, b"\x1b[31m\x07 (x) y\0")
waiting, other = pair(socket.AF_INET, "127.0.0.1")


def wait_for_nothing():
    try:
        waiting.recv(1)
    except OSError:
        pass  # reset at the end


threading.Thread(target=wait_for_nothing, daemon=True).start()
# Two processes that share sockets.
if "fork" in sys.argv:
    child = os.fork()
    if child == 0:
        sys.stdin.read()
        os._exit(0)
print("ready", os.getpid(), waiting.fileno(), flush=True)
sys.stdin.read()
# Ends without lingering connections: everything is reset.
for s in kept:
    try:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        s.close()
    except OSError:
        pass
