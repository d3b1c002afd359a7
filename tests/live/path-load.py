#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Loads with known delays for path.t and path-delays.t.

path-load.py echo tcp|udp ADDR PORT [how] [SECONDS]   echoes each message; how: sleep (before each read), epoll
path-load.py ask tcp|udp ADDR PORT COUNT [BYTES]      sends a message, waits for the answer, COUNT times
path-load.py hold QUEUE SECONDS                       holds each packet of a netfilter queue for so long
path-load.py late ADDR PORT BYTES SECONDS [RCVBUF]    TCP: waits after a message's first byte, reads it, answers a byte
path-load.py push ADDR PORT BYTES COUNT [SNDBUF]      TCP: sends messages, each in one call, waits for the answer's byte
path-load.py slow ADDR PORT SECONDS                   TCP: of two bytes acknowledges the first so late, answers with two
path-load.py pair ADDR PORT COUNT                     TCP: writes two bytes one by one, waits for the answer
path-load.py burst ADDR PORT BYTES,.. SECONDS ROUNDS  UDP: datagrams of these sizes at once, SECONDS apart
path-load.py sink ADDR PORT                           UDP: reads and says nothing
path-load.py hog                                      uses a CPU
Servers say `up` when they listen, and from when to when they put something off; all end by themselves after a minute.
"""
import heapq
import os
import select
import signal
import socket
import struct
import sys
import time

NFQUEUE = 3 << 8


def listen(kind, addr, port, buffer=0):
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM if kind == "tcp" else socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if buffer:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    sock.bind((addr, port))
    if kind == "tcp":
        sock.listen(5)
    print("up", flush=True)
    return sock


def accept(sock):
    conn, _ = sock.accept()
    conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return conn


def connect(kind, addr, port, buffer=0):
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM if kind == "tcp" else socket.SOCK_DGRAM)
    if buffer:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffer)
    # A timeout of the kernel's, so that reads really wait in the call.
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 10, 0))
    sock.connect((addr, port))
    return sock


def put_off(seconds):
    """On a busy host this takes longer than it should: path-check.py is told how long."""
    begin = time.time_ns()
    time.sleep(float(seconds))
    print("delay", begin, time.time_ns(), flush=True)


def echo(kind, addr, port, how="", delay="0"):
    sock = listen(kind, addr, int(port))
    conn = accept(sock) if kind == "tcp" else sock
    poll = select.epoll()
    poll.register(conn.fileno(), select.EPOLLIN)
    while True:
        if how == "epoll":
            poll.poll()
        if how:
            put_off(delay)
        if kind == "tcp":
            data = conn.recv(65536)
            if not data:
                return
            conn.send(data)
        else:
            data, peer = conn.recvfrom(65536)
            conn.sendto(data, peer)


def ask(kind, addr, port, count, size="64"):
    sock = connect(kind, addr, int(port))
    if kind == "tcp":
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for _ in range(int(count)):
        sock.send(b"x" * int(size))
        sock.recv(65536)


def attribute(kind, data):
    return struct.pack("=HH", 4 + len(data), kind) + data + b"\0" * (-len(data) % 4)


def packet_ids(data):
    while len(data) >= 20:
        length, kind = struct.unpack_from("=IH", data)
        rest = data[20:length] if kind == NFQUEUE else b""
        while len(rest) >= 8:
            size, what = struct.unpack_from("=HH", rest)
            if what & 0x3FFF == 1:
                yield struct.unpack_from("!I", rest, 4)[0]
            rest = rest[(size + 3) & ~3 :]
        data = data[(length + 3) & ~3 :]


def hold(queue, seconds):
    sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12)
    sock.bind((0, 0))

    def send(kind, body):
        body = struct.pack("=BBH", 0, 0, socket.htons(int(queue))) + body
        sock.send(struct.pack("=IHHII", 16 + len(body), NFQUEUE | kind, 1, 0, 0) + body)

    send(2, attribute(1, struct.pack("!BBH", 1, 0, socket.AF_INET)))
    send(2, attribute(2, struct.pack("!IB", 0, 1)))
    print("up", flush=True)
    due = []
    while True:
        wait = max(0, due[0][0] - time.monotonic()) if due else None
        if select.select([sock], [], [], wait)[0]:
            now = time.monotonic()
            for number in packet_ids(sock.recv(1 << 18)):
                heapq.heappush(due, (now + float(seconds), number, time.time_ns()))
        while due and due[0][0] <= time.monotonic():
            _, number, begin = heapq.heappop(due)
            send(1, attribute(2, struct.pack("!II", 1, number)))
            print("delay", begin, time.time_ns(), flush=True)


def late(addr, port, size, seconds, buffer="0"):
    conn = accept(listen("tcp", addr, int(port), int(buffer)))
    while True:
        if not conn.recv(1, socket.MSG_PEEK):
            return
        put_off(seconds)
        left = int(size)
        while left:
            left -= len(conn.recv(min(left, 1 << 20)))
        conn.send(b"y")


def push(addr, port, size, count, buffer="0"):
    sock = connect("tcp", addr, int(port), int(buffer))
    for _ in range(int(count)):
        sock.sendall(b"x" * int(size))
        sock.recv(1)


def slow(addr, port, seconds):
    conn = accept(listen("tcp", addr, int(port)))
    while True:
        conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
        if not conn.recv(1):
            return
        put_off(seconds)
        # What has not been acknowledged yet is now, rather than when the kernel's timer is up.
        conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
        if not conn.recv(1):
            return
        conn.send(b"yy")


def pair(addr, port, count):
    sock = connect("tcp", addr, int(port))
    for _ in range(int(count)):
        sock.send(b"a")
        sock.send(b"b")
        left = 2
        while left:
            left -= len(sock.recv(left))


def burst(addr, port, sizes, seconds, rounds):
    sock = connect("udp", addr, int(port))
    for _ in range(int(rounds)):
        for size in sizes.split(","):
            sock.send(b"x" * int(size))
        time.sleep(float(seconds))


def sink(addr, port):
    sock = listen("udp", addr, int(port))
    while True:
        sock.recv(65536)


def hog():
    print("up", flush=True)
    while True:
        pass


if __name__ == "__main__":
    # Whatever happens, it ends; in an emulated machine everything takes much longer.
    signal.alarm(600 if os.environ.get("NEST_VM") else 60)
    globals()[sys.argv[1]](*sys.argv[2:])
