#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""TCP traffic with known numbers, for tests of the TCP tools.

    tcp-load.py serve HOST...     a server on ports BASE + 1 and up, prints "ready" when all of them listen
    tcp-load.py ask HOST HOST6    the client's part of all of it, prints what it did as JSON

Each connection of the client has a name; the server's port says what is done:

    1 sink     reads everything          2 slow    has a small buffer and reads when it is full
    3 reset    reads, then resets        4 answer  answers what came after two writes
    5 full     never accepts, queue of 2 6 closed  nobody listens
    7 syn, 8 synack, 9 tail, 10 timeout            sinks; the test drops some of their packets
    11 paced   a sink for a client with a rate     12 late   reads 300 ms after something came
"""
import fcntl
import itertools
import json
import select
import socket
import struct
import sys
import termios
import threading
import time

BASE = 25000
SINK, SLOW, RESET, ANSWER, FULL, CLOSED, SYN, SYNACK, TAIL, TIMEOUT, PACED, LATE = range(BASE + 1, BASE + 13)
# Python 3.14 tells the kernel the name of a thread.
NAME = "python3"
ROUNDS = 12


def read_all(connection):
    total = 0
    while True:
        data = connection.recv(65536)
        if not data:
            return total
        total += len(data)


def wait_until_full(connection):
    """Until what waits to be read has not become more for a while: the window is closed."""
    before = waiting = 0
    while waiting == 0 or waiting != before:
        before = waiting
        time.sleep(0.5)
        waiting = int.from_bytes(fcntl.ioctl(connection, termios.FIONREAD, b"\0" * 4), "little")


def serve_one(port, connection):
    try:
        if port == SLOW:
            wait_until_full(connection)
        if port == LATE:
            select.select([connection], [], [])
            time.sleep(0.3)
        if port == RESET:
            connection.recv(65536)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif port == ANSWER:
            while True:
                got = 0
                # Without it a kernel chooses when it begins to delay acknowledgements; none is to be at once here.
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
                while got < 18:
                    data = connection.recv(18 - got)
                    if not data:
                        return
                    got += len(data)
                connection.sendall(b"a" * 5)
        else:
            read_all(connection)
    finally:
        connection.close()


def listen(host, port):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if port == SLOW:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
    listener.bind((host, port))
    listener.listen(2 if port == FULL else 64)
    return listener


def accept_all(port, listener):
    while True:
        connection, _ = listener.accept()
        threading.Thread(name=NAME, target=serve_one, args=(port, connection), daemon=True).start()


def serve(*hosts):
    kept = []
    for host in hosts:
        for port in range(SINK, LATE + 1):
            if port == CLOSED:
                continue
            listener = listen(host, port)
            kept.append(listener)
            if port != FULL:
                threading.Thread(name=NAME, target=accept_all, args=(port, listener), daemon=True).start()
    print("ready", flush=True)
    time.sleep(600)


class Client:
    def __init__(self, host, host6):
        self.hosts = {4: host, 6: host6}
        self.done = []
        self.lock = threading.Lock()
        self.ports = itertools.count(33000)

    def connect(self, port, version=4):
        """From a port of its own: the kernel gives one to several connections, and the checks know them by it."""
        connection = socket.socket(socket.AF_INET6 if version == 6 else socket.AF_INET, socket.SOCK_STREAM)
        connection.settimeout(20)
        connection.bind(("", next(self.ports)))
        connection.connect((self.hosts[version], port))
        return connection

    def note(self, name, connection, sent, received=0, **more):
        with self.lock:
            self.done.append(
                {"name": name, "lport": connection.getsockname()[1], "sent": sent, "received": received, **more})

    def push(self, name, port, amount, version=4, chunk=65536, **options):
        """Sends so much, says so, and waits until the server has read all of it."""
        connection = self.connect(port, version)
        for option, value in options.items():
            connection.setsockopt(*{"rate": (socket.SOL_SOCKET, 47, value)}[option])
        began = time.time_ns()
        for at in range(0, amount, chunk):
            connection.sendall(b"x" * min(chunk, amount - at))
        self.note(name, connection, amount)
        connection.shutdown(socket.SHUT_WR)
        read_all(connection)
        connection.close()
        self.done[-1].setdefault("took_ns", time.time_ns() - began)

    def reset(self, name, version):
        connection = self.connect(RESET, version)
        connection.sendall(b"r" * 7919)
        self.note(name, connection, 7919)
        try:
            read_all(connection)
        except ConnectionResetError:
            pass
        connection.close()

    def refused(self):
        try:
            self.connect(CLOSED)
        except ConnectionRefusedError:
            pass

    def two_writes(self, name, nodelay):
        """Two small writes and a read: the second waits for the first one's acknowledgement, unless told not to."""
        connection = self.connect(ANSWER)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, nodelay)
        begun, written = [], []
        for _ in range(ROUNDS):
            connection.send(b"1" * 7)
            begun.append(time.time_ns())
            connection.send(b"2" * 11)
            written.append(time.time_ns())
            got = 0
            while got < 5:
                got += len(connection.recv(5))
        self.note(name, connection, 18 * ROUNDS, 5 * ROUNDS, begun_ns=begun, written_ns=written)
        connection.close()

    def tail(self, name, port, amount):
        """Something first, so that a round-trip time is known; then a last segment of a length that the test drops."""
        connection = self.connect(port)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(b"f" * 31)
        time.sleep(0.1)
        connection.sendall(b"t" * amount)
        self.note(name, connection, 31 + amount)
        time.sleep(1.2)
        connection.close()

    def late(self):
        connection = self.connect(LATE)
        connection.sendall(b"l" * 37)
        self.note("late", connection, 37)
        connection.shutdown(socket.SHUT_WR)
        read_all(connection)
        connection.close()

    def fill(self):
        kept = []
        for _ in range(3):
            connection = self.connect(FULL)
            kept.append(connection)
            self.note("full", connection, 0)
        time.sleep(0.3)
        for connection in kept:
            connection.close()


def ask(host, host6):
    client = Client(host, host6)
    jobs = [
        (client.push, "lossy", SINK, 790123),
        (client.push, "lossy6", SINK, 391117, 6),
        (client.push, "slow", SLOW, 151237),
        (client.reset, "reset", 4),
        (client.reset, "reset6", 6),
        (client.refused,),
        (client.two_writes, "nagle", 0),
        (client.two_writes, "nodelay", 1),
        (client.push, "syn", SYN, 101),
        (client.push, "synack", SYNACK, 103),
        (client.tail, "tail", TAIL, 977),
        (client.tail, "timeout", TIMEOUT, 983),
        (client.late,),
        (client.fill,),
    ]
    threads = [threading.Thread(name=NAME, target=job[0], args=job[1:]) for job in jobs]
    threads.append(threading.Thread(name=NAME, target=lambda: client.push("paced", PACED, 400009, rate=1000000)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps(client.done))


if __name__ == "__main__":
    {"serve": serve, "ask": ask}[sys.argv[1]](*sys.argv[2:])
