# SPDX-License-Identifier: GPL-2.0-or-later
"""Traffic for runs of nest that begin after a fault: late-load.py ROLE ADDRESS PORT. Prints "ready" when it runs."""
import socket
import sys
import time

role, address, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
family = socket.AF_INET6 if ":" in address else socket.AF_INET


def ready():
    print("ready", flush=True)


def sink():
    server = socket.create_server((address, port), family=family)
    ready()
    conn, _ = server.accept()
    while conn.recv(65536):
        pass


def source():
    conn = socket.create_connection((address, port))
    ready()
    while True:
        conn.sendall(b"x" * 4000)
        time.sleep(0.002)


def server():
    """Accepts three clients and never reads."""
    listener = socket.create_server((address, port))
    ready()
    kept = [listener.accept()[0] for _ in range(3)]
    while kept:
        time.sleep(1)


def clients():
    conns = [socket.create_connection((address, port)) for _ in range(3)]
    for conn in conns:
        conn.sendall(b"request")
    ready()
    while conns[0].recv(100):
        pass


def echo():
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.bind((address, port))
    ready()
    while True:
        s.sendto(*s.recvfrom(2000))


def ask():
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    ready()
    while True:
        try:
            s.sendto(b"x" * 100, (address, port))
        except OSError:
            pass
        time.sleep(0.2)


def scan():
    ready()
    while True:
        for p in range(port, port + 20):
            s = socket.socket()
            s.setblocking(False)
            s.connect_ex((address, p))
            time.sleep(0.03)


def connect():
    """Connects, again and again."""
    ready()
    while True:
        try:
            socket.create_connection((address, port), 2)
        except OSError:
            time.sleep(0.2)


{f.__name__: f for f in (sink, source, server, clients, echo, ask, scan, connect)}[role]()
