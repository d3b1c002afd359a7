# SPDX-License-Identifier: GPL-2.0-or-later
"""Clients of the flow laboratory: a session says what one client does; run_sessions plays many of them."""
import contextlib
import dataclasses
import fcntl
import os
import queue
import random
import signal
import socket
import threading
import time
import typing

FAST, SLOW_MAX = 4, 10
CLIENT_PORTS = 33000, 60900
# Below what a connection on loopback buffers, a slow reader would hold nobody up.
LARGE_BYTES = 6 * 1024 * 1024


@dataclasses.dataclass
class Session:
    """One connection. Times in seconds."""
    requests: list
    bad: bool = False
    drip: float = 0          # each request is sent in pieces during this time
    stall: float = 0         # the first answer is left unread for this time, after its beginning
    rest: float = 0          # idle after every answer
    pipeline: bool = False   # all requests at once
    lock: str = ''           # file that is locked while the request runs,
    lock_seconds: float = 0  # for this time
    lease: bool = False      # by a lease on it instead of flock()
    alone: bool = False      # one of these at a time
    user: str = ''           # who logs in, where the protocol begins with that
    before: typing.Any = None  # another session that is over when this one begins
    later: typing.Any = None   # (seconds, session): another session after the first request was sent

    @property
    def slow(self):
        return bool(self.drip or self.stall or self.rest or self.lock or self.later or self.before or self.alone)


class Http:
    """HTTP/1.1; path and headers as the servers of lab/servers expect them."""

    def __init__(self, page='/index.html', large='/large', missing='/missing', other='/other.html', post=None,
                 closes=False):
        self.closes = closes  # after every answer
        self.page, self.large_page, self.missing_page, self.other_page = page, large, missing, other
        self.post_page = post or page

    def ask(self, path, last=True, body=None, headers=''):
        close = 'Connection: close\r\n' if last else ''
        size = f'Content-Length: {len(body)}\r\n' if body is not None else ''
        return (f'{"GET" if body is None else "POST"} {path} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: lab\r\n'
                f'Accept: */*\r\n{headers}{size}{close}\r\n{body or ""}').encode()

    def get(self, last=True):
        return self.ask(self.page, last)

    def other(self, last=True):
        return self.ask(self.other_page, last)

    def missing(self, last=True):
        return self.ask(self.missing_page, last)

    def large(self, last=True):
        return self.ask(self.large_page, last)

    def post(self, size, last=True):
        return self.ask(self.post_page, last, body='b' * size)

    @staticmethod
    def read(stream, begin=lambda: None):
        length, chunked = 0, False
        if not stream.readline():
            return False
        begin()
        while True:
            line = stream.readline().strip().lower()
            if not line:
                break
            if line.startswith(b'content-length:'):
                length = int(line.split(b':')[1])
            chunked |= line.startswith(b'transfer-encoding:')
        left = 1 << 60 if chunked else length
        while left:
            part = stream.read1(min(left, 1 << 20))
            if not part:
                break
            left -= len(part)
        return True


class Resp:
    """The protocol of Redis."""

    @staticmethod
    def ask(*words):
        words = [str(w).encode() for w in words]
        return b'*%d\r\n' % len(words) + b''.join(b'$%d\r\n%s\r\n' % (len(w), w) for w in words)

    def get(self, _last=True):
        return self.ask('GET', 'page')

    def other(self, _last=True):
        return self.ask('LRANGE', 'list', 0, -1)

    def missing(self, _last=True):
        return self.ask('GET', 'nothing')

    def large(self, _last=True):
        return self.ask('GET', 'large')

    def post(self, size, _last=True):
        return self.ask('SET', 'posted', 'b' * size)

    def read(self, stream, begin=lambda: None):
        line = stream.readline()
        if not line:
            return False
        begin()
        size = int(line[1:]) if line[:1] in (b'$', b'*') else 0
        if line[:1] == b'$' and size >= 0:
            stream.read(size + 2)
        if line[:1] == b'*':
            for _ in range(size):
                self.read(stream)
        return True


class Ports:
    """Client ports, each used once: they identify the sessions of the trace. seconds: how long each lasted."""

    def __init__(self, port):
        self.port, self.used, self.seconds = port, {}, {}
        self.guard, self.alone = threading.Lock(), threading.Lock()
        first = random.randrange(*CLIENT_PORTS)
        self.next_port = iter([*range(first, CLIENT_PORTS[1]), *range(CLIENT_PORTS[0], first)])

    def connect(self, session):
        s = self.bound(session)
        s.settimeout(30)
        s.connect(('127.0.0.1', self.port))
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return s

    def bound(self, session):
        """The system would soon assign a port again: ports are taken one after the other, from a random one on."""
        while True:
            with self.guard:
                port = next(self.next_port)
            s = socket.socket()
            # Its last connection, to another server, may not be forgotten yet.
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if session.stall:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
            try:
                s.bind(('127.0.0.1', port))
            except OSError:
                s.close()
                continue
            self.used[port] = session.bad
            return s


def send(s, text, drip):
    if not drip:
        s.sendall(text)
        return
    pieces = 12
    size = -(-len(text) // pieces)
    for at in range(0, len(text), size):
        s.sendall(text[at:at + size])
        if at + size < len(text):
            time.sleep(drip / (pieces - 1))


def is_awaited(inode):
    """Whether somebody waits for a lock on this file, or for the end of a lease."""
    with open('/proc/locks', encoding='ascii') as f:
        rows = [line.split() for line in f]
    return any(str(inode) in row[-3].split(':') and ('->' in row or 'BREAKING' in row) for row in rows)


def hold(session):
    """Locks the session's file; a thread lets it go some time after the server has come to wait for it."""
    held = open(session.lock, 'a+b')  # pylint: disable=consider-using-with
    if session.lease:
        fcntl.fcntl(held, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    else:
        fcntl.flock(held, fcntl.LOCK_EX)

    def release():
        inode, end = os.fstat(held.fileno()).st_ino, time.monotonic() + 10
        while not is_awaited(inode) and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(session.lock_seconds)
        if session.lease:
            fcntl.fcntl(held, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        held.close()
    holder = threading.Thread(target=release)
    holder.start()
    return holder


def play(session, ports, speaks):
    """One session, from connect to close."""
    with ports.alone if session.alone else contextlib.nullcontext():
        play_now(session, ports, speaks)


def play_now(session, ports, speaks):
    timers = []
    if session.before:
        play(session.before, ports, speaks)
    with ports.connect(session) as s, s.makefile('rb', buffering=0) as raw:
        begun, stream = time.monotonic(), Reader(raw)
        if hasattr(speaks, 'login'):
            speaks.login(s, stream, session.user)
        if session.lock:
            timers.append(hold(session))
        stall = [session.stall]

        def begin():
            if stall[0]:
                time.sleep(stall.pop())
                stall.append(0)
        requests = session.requests[:1] if getattr(speaks, 'closes', False) else session.requests
        batches = [b''.join(requests)] if session.pipeline else requests
        for number, text in enumerate(batches):
            send(s, text, session.drip)
            if session.later and number == 0:
                delay, other = session.later
                timers.append(threading.Timer(delay, play, (other, ports, speaks)))
                timers[-1].start()
            for _ in range(len(requests) if session.pipeline else 1):
                if not speaks.read(stream, begin):
                    break
            if session.rest:
                time.sleep(session.rest)
        ports.seconds[s.getsockname()[1]] = time.monotonic() - begun
    for timer in timers:
        timer.join()


class Reader:
    """Lines and bytes of a socket, with small reads first so that a stalled client has taken little."""

    def __init__(self, raw):
        self.raw, self.rest = raw, b''

    def more(self, size):
        part = self.raw.read(size)
        self.rest += part or b''
        return bool(part)

    def readline(self):
        while b'\n' not in self.rest:
            if not self.more(1024):
                break
        line, end, self.rest = self.rest.partition(b'\n')
        return line + end

    def read1(self, size):
        if self.rest:
            part, self.rest = self.rest[:size], self.rest[size:]
            return part
        return self.raw.read(size)

    def read(self, size):
        got = 0
        while got < size:
            part = self.read1(min(size - got, 1 << 20))
            if not part:
                break
            got += len(part)


def run_sessions(sessions, port, speaks):
    """Plays all of them, in this order; returns the ports, and what clients complained about."""
    # A broken lease sends this signal.
    signal.signal(signal.SIGIO, signal.SIG_IGN)
    ports, errors, slots = Ports(port), [], threading.Semaphore(SLOW_MAX)
    waiting, slow = queue.Queue(), []

    def attempt(session):
        try:
            play(session, ports, speaks)
        except Exception as error:  # pylint: disable=broad-except
            errors.append(f'{type(error).__name__}: {error}')

    def attempt_slow(session):
        attempt(session)
        slots.release()

    def work():
        while True:
            session = waiting.get()
            if session is None:
                return
            if session.slow:
                slots.acquire()  # pylint: disable=consider-using-with
                slow.append(threading.Thread(target=attempt_slow, args=(session,)))
                slow[-1].start()
            else:
                attempt(session)
    for session in sessions + [None] * FAST:
        waiting.put(session)
    workers = [threading.Thread(target=work) for _ in range(FAST)]
    for worker in workers:
        worker.start()
    for worker in workers + slow:
        worker.join()
    for worker in slow:
        worker.join()
    return ports, errors
