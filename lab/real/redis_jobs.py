# SPDX-License-Identifier: GPL-2.0-or-later
"""Clients that wait for redis by design: workers of a job list, subscribers."""

import socket
import threading
import time

from real import metered


class Redis:
    """One connection; replies are read line by line."""

    def __init__(self, host, port):
        self.socket = socket.create_connection((host, int(port)))
        self.file = self.socket.makefile("rb")

    def send(self, *words):
        parts = [f"*{len(words)}\r\n".encode()]
        for word in map(str.encode, words):
            parts.append(b"$%d\r\n%s\r\n" % (len(word), word))
        self.socket.sendall(b"".join(parts))

    def reply(self):
        """A reply as text, number or list; None is nil."""
        line = self.file.readline()
        if not line:
            raise SystemExit("redis closed the connection")
        kind, rest = line[:1], line[1:].strip()
        if kind == b"*":
            count = int(rest)
            return None if count < 0 else [self.reply() for _ in range(count)]
        if kind == b"$":
            length = int(rest)
            return None if length < 0 else self.file.read(length + 2)[:-2]
        return rest

    def ask(self, *words):
        self.send(*words)
        return self.reply()


def start_all(meter, count, function):
    meter.ready()
    crew = [threading.Thread(target=function) for _ in range(int(count))]
    for one in crew:
        one.start()
    for one in crew:
        one.join()


@metered("python3", name="redis-workers")
def redis_workers(meter, room, *, host, port, workers="8", wait_s="5",
                  job_ms="30"):
    """Wait in BLPOP for a job, up to `wait_s`; an operation is one wait."""
    def work():
        redis = Redis(host, port)
        while True:
            job = redis.ask("BLPOP", "jobs", wait_s)
            if job:
                meter.moved(len(job[1]))
                time.sleep(float(job_ms) / 1000)
            meter.op()
    start_all(meter, workers, work)


@metered("python3", name="redis-subscribers")
def redis_subscribers(meter, room, *, host, port, count="20"):
    """Only listen; an operation is one message."""
    def listen():
        redis = Redis(host, port)
        redis.ask("SUBSCRIBE", "news")
        while True:
            meter.moved(len(redis.reply()[2]))
            meter.op()
    start_all(meter, count, listen)


@metered("python3", name="redis-sender")
def redis_sender(meter, room, *, host, port, what, interval_ms, size="300"):
    """what=job: a job for the workers; what=news: a message for subscribers."""
    redis = Redis(host, port)
    words = {"job": ("RPUSH", "jobs"), "news": ("PUBLISH", "news")}[what]
    meter.ready()
    while True:
        redis.ask(*words, "x" * int(size))
        meter.op()
        time.sleep(float(interval_ms) / 1000)
