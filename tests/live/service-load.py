#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Clients and servers with known answer times.

  service-load.py FEW

Prints one JSON object per connection: its case, both ports, how long the client waited by its own clock (ns), and the
bytes of the requests. FEW: the number of ping-pong exchanges.
"""
import json
import os
import socket
import struct
import sys
import tempfile
import threading
import time

CLOCK = time.monotonic_ns


def listen(family=socket.AF_INET):
    listener = socket.socket(family)
    listener.bind(("::1" if family == socket.AF_INET6 else "127.0.0.1", 0))
    listener.listen(64)
    return listener


def read_all(sock, count):
    while count:
        data = sock.recv(min(count, 1 << 16))
        if not data:
            return False
        count -= len(data)
    return True


def case(name, serve, ask, family=socket.AF_INET, times=1):
    listener = listen(family)

    def accept():
        for _ in range(times):
            peer, _ = listener.accept()
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            serve(peer)
            peer.close()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    for _ in range(times):
        sock = socket.create_connection(listener.getsockname()[:2])
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        port = sock.getsockname()[1]
        waits, sizes = ask(sock)
        sock.close()
        print(json.dumps({"case": name, "port": port, "service": listener.getsockname()[1], "waits": waits,
                          "bytes": sizes}), flush=True)
    thread.join(20)
    listener.close()


def timed(sock, request, answer):
    begin = CLOCK()
    sock.sendall(request)
    ok = read_all(sock, answer)
    return CLOCK() - begin if ok else None


def keep_alive(delays):
    def serve(peer):
        for delay in delays:
            read_all(peer, 100)
            time.sleep(delay)
            peer.sendall(b"a" * 10)
        read_all(peer, 1)

    def ask(sock):
        waits = []
        for _ in delays:
            waits.append(timed(sock, b"q" * 100, 10))
            time.sleep(0.02)
        return waits, [100] * len(delays)

    return serve, ask


def pipelined():
    def serve(peer):
        read_all(peer, 300)
        time.sleep(0.05)
        for _ in range(3):
            peer.sendall(b"a" * 10)
        read_all(peer, 1)

    def ask(sock):
        for _ in range(2):
            sock.sendall(b"q" * 100)
            time.sleep(0.01)
        return [timed(sock, b"q" * 100, 30)], [300]

    return serve, ask


def pushes():
    def serve(peer):
        for _ in range(5):
            peer.sendall(b"p" * 50)
            time.sleep(0.02)
        read_all(peer, 1)

    def ask(sock):
        read_all(sock, 250)
        return [], []

    return serve, ask


def given_up():
    def ask(sock):
        begin = CLOCK()
        sock.sendall(b"q" * 100)
        sock.settimeout(0.4)
        try:
            sock.recv(1)
        except socket.timeout:
            pass
        return [CLOCK() - begin], [100]

    return lambda peer: read_all(peer, 101), ask


def left(abort):
    def serve(peer):
        read_all(peer, 100)
        time.sleep(0.1)
        if abort:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def ask(sock):
        begin = CLOCK()
        sock.sendall(b"q" * 100)
        try:
            sock.recv(1)
        except ConnectionResetError:
            pass
        return [CLOCK() - begin], [100]

    return serve, ask


def goodbye():
    def ask(sock):
        waits = [timed(sock, b"q" * 100, 10)]
        sock.sendall(b"QUIT")
        return waits, [100]

    def serve(peer):
        read_all(peer, 100)
        peer.sendall(b"a" * 10)
        read_all(peer, 5)

    return serve, ask


def large():
    def serve(peer):
        read_all(peer, 1 << 20)
        time.sleep(0.03)
        with tempfile.TemporaryFile() as page:
            page.truncate(1 << 20)
            sent = 0
            while sent < 1 << 20:
                sent += os.sendfile(peer.fileno(), page.fileno(), sent, (1 << 20) - sent)
        read_all(peer, 1)

    return serve, lambda sock: ([timed(sock, b"q" * (1 << 20), 1 << 20)], [1 << 20])


def half_closed():
    def serve(peer):
        while peer.recv(1000):
            pass
        time.sleep(0.05)
        peer.sendall(b"a" * 10)

    def ask(sock):
        begin = CLOCK()
        sock.sendall(b"q" * 100)
        sock.shutdown(socket.SHUT_WR)
        read_all(sock, 10)
        return [CLOCK() - begin], [100]

    return serve, ask


def ping_pong(count):
    def serve(peer):
        while read_all(peer, 64):
            peer.sendall(b"a" * 64)

    return serve, lambda sock: ([timed(sock, b"q" * 64, 64) for _ in range(count)], [64] * count)


case("keep-alive", *keep_alive([0, 0.005, 0.05, 0.3]))
case("IPv6", *keep_alive([0.02, 0.04]), family=socket.AF_INET6)
case("short", *keep_alive([0.02]), times=5)
case("pipelined", *pipelined())
case("pushes", *pushes())
case("given-up", *given_up())
case("left", *left(False))
case("reset", *left(True))
case("goodbye", *goodbye())
case("large", *large())
case("half-closed", *half_closed())
case("ping-pong", *ping_pong(int(sys.argv[1])))
