#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that divide their time in a known way, and write down how.

  time-load.py ROLE PORT [LOG]

Before and after each part of its work a program reads its own clocks: CLOCK_REALTIME, CLOCK_MONOTONIC and
/proc/thread-self/schedstat. A line of the log holds the totals so far: the time of day, then nanoseconds on the CPU, on
the run queue, and blocked in each part. `time-load.py shares LOG START_NS END_NS` prints what passed between two times
as shares, as JSON.
"""
import json
import selectors
import socket
import sys
import threading
import time

ADDRESS = "127.0.0.1"


class Clock:
    """Adds up where the time goes."""

    def __init__(self, log):
        self.log = open(log, "w", encoding="ascii")
        self.totals = {"cpu": 0, "cpu-wait": 0}
        self.before = self.read()
        self.write()

    @staticmethod
    def read():
        with open("/proc/thread-self/schedstat", encoding="ascii") as file:
            run, wait, _ = map(int, file.read().split())
        return time.monotonic_ns(), run, wait

    def part(self, name):
        now = self.read()
        wall, run, wait = (b - a for a, b in zip(self.before, now))
        self.totals["cpu"] += run
        self.totals["cpu-wait"] += wait
        self.totals[name] = self.totals.get(name, 0) + max(0, wall - run - wait)
        self.before = now

    def write(self):
        print(json.dumps({"at": time.time_ns(), **self.totals}), file=self.log, flush=True)


def compute(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def mixed(port, log):
    """A blocking client: 40 ms on the CPU, an answer, 30 ms asleep."""
    connection = socket.create_connection((ADDRESS, port))
    clock = Clock(log)
    while True:
        compute(0.04)
        clock.part("other")
        connection.sendall(b"q" * 64)
        connection.recv(4096)
        clock.part("answer")
        time.sleep(0.03)
        clock.part("other")
        clock.write()


def polling(port, log):
    """A client with an event loop: an answer, then nothing to do for 40 ms."""
    connection = socket.create_connection((ADDRESS, port))
    connection.setblocking(False)
    loop = selectors.EpollSelector()
    loop.register(connection, selectors.EVENT_READ)
    clock = Clock(log)
    while True:
        connection.sendall(b"q" * 64)
        while not loop.select(5):
            pass
        connection.recv(4096)
        clock.part("answer")
        loop.select(0.04)
        clock.part("idle")
        clock.write()


def pool(port, log):
    """A client with seven threads that have nothing to do, beside one that waits for answers."""
    for _ in range(7):
        threading.Thread(target=threading.Event().wait, daemon=True).start()
    connection = socket.create_connection((ADDRESS, port))
    clock = Clock(log)
    while True:
        connection.sendall(b"q" * 64)
        connection.recv(4096)
        clock.part("answer")
        clock.write()


def serve(port, delay):
    """Answers each question after a delay."""
    def answer(connection):
        while connection.recv(4096):
            time.sleep(delay)
            connection.sendall(b"a" * 64)

    listener = socket.create_server((ADDRESS, port), backlog=100)
    print("ready", flush=True)
    while True:
        threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()


def idle(port, _log):
    """A server with an event loop and without a client."""
    listener = socket.create_server((ADDRESS, port))
    loop = selectors.EpollSelector()
    loop.register(listener, selectors.EVENT_READ)
    print("ready", flush=True)
    while True:
        loop.select()


def deaf(port, _log):
    """Accepts, and never reads; then accepts no longer, until its queue is full."""
    listener = socket.create_server((ADDRESS, port), backlog=0)
    print("ready", flush=True)
    _connection = listener.accept()
    time.sleep(600)


def sending(port, _log):
    connection = socket.create_connection((ADDRESS, port))
    while True:
        connection.sendall(b"s" * 65536)


def sink(port, _log):
    """Reads, and never answers."""
    listener = socket.create_server((ADDRESS, port))
    print("ready", flush=True)
    connection = listener.accept()[0]
    while connection.recv(65536):
        pass


def pushing(port, log):
    """A client with an event loop that sends without ever expecting an answer."""
    connection = socket.create_connection((ADDRESS, port))
    connection.setblocking(False)
    loop = selectors.EpollSelector()
    loop.register(connection, selectors.EVENT_READ)
    clock = Clock(log)
    while True:
        connection.sendall(b"p" * 200)
        loop.select(0.01)
        clock.part("idle")
        clock.write()


def connecting(port, _log):
    """Fills the accept queue of the deaf one, and connects once more."""
    fillers = []
    for _ in range(4):
        filler = socket.socket()
        filler.setblocking(False)
        filler.connect_ex((ADDRESS, port))
        fillers.append(filler)
    time.sleep(0.5)
    print("ready", flush=True)
    while True:
        try:
            socket.create_connection((ADDRESS, port))
        except OSError:
            time.sleep(0.1)


def name_server(_port, _log):
    """Never answers."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((ADDRESS, 53))
    print("ready", flush=True)
    while True:
        server.recv(512)


def resolving(_port, _log):
    """Asks as the C library does: one datagram, and poll until it gives up."""
    question = bytes.fromhex("1234010000010000000000000161076578616d706c6500") + b"\0\1\0\1"
    while True:
        client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        client.connect((ADDRESS, 53))
        client.settimeout(1)
        client.send(question)
        try:
            client.recv(512)
        except TimeoutError:
            pass
        client.close()


def shares(log, start, end):
    with open(log, encoding="ascii") as file:
        lines = [json.loads(line) for line in file if line.endswith("}\n")]
    first = max((x for x in lines if x["at"] <= start), key=lambda x: x["at"], default=lines[0])
    last = min((x for x in lines if x["at"] >= end), key=lambda x: x["at"], default=lines[-1])
    spent = {name: last[name] - first.get(name, 0) for name in last if name != "at"}
    return {name: value / sum(spent.values()) for name, value in spent.items()}


def main():
    role, rest = sys.argv[1], sys.argv[2:]
    if role == "shares":
        print(json.dumps(shares(rest[0], int(rest[1]), int(rest[2]))))
    elif role == "server":
        serve(int(rest[0]), float(rest[1]))
    else:
        globals()[role](int(rest[0]), rest[1] if len(rest) > 1 else None)


try:
    main()
except OSError:
    pass  # the test is over
