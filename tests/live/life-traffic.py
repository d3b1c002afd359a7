# SPDX-License-Identifier: GPL-2.0-or-later
"""Traffic of diagnose-life.t: life-traffic.py ROLE ADDRESS PORT. Prints "ready" when it runs, "late" for each wait."""
import select
import socket
import sys
import threading
import time

role, address, port = sys.argv[1], sys.argv[2], int(sys.argv[3])


def say(word):
    print(word, flush=True)


def keep_alive(conn):
    conn.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 1)
    conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 1)


def each(listener, work):
    say("ready")
    while True:
        threading.Thread(target=work, args=(listener.accept()[0],), daemon=True).start()


def read_all(conn):
    while conn.recv(65536):
        pass


def send_back(conn):
    while data := conn.recv(1000):
        conn.sendall(data)


def sink():
    each(socket.create_server((address, port)), read_all)


def echo():
    each(socket.create_server((address, port)), send_back)


def unacknowledged(conn):
    """tcp_info.tcpi_unacked."""
    return int.from_bytes(conn.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)[24:28], sys.byteorder)


def burst_forever():
    conn = socket.create_connection((address, port))
    conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while True:
        conn.sendall(b"x" * 4000)
        began = time.monotonic()
        while unacknowledged(conn) and time.monotonic() < began + 60:
            time.sleep(0.005)
        if time.monotonic() - began > 0.1:
            say("late")
        time.sleep(0.05)


def bursts():
    for _ in range(4):
        threading.Thread(target=burst_forever, daemon=True).start()
    say("ready")
    time.sleep(600)


def stream():
    conn = socket.create_connection((address, port))
    say("ready")
    while True:
        conn.sendall(b"x" * 64000)
        time.sleep(0.02)


def accept():
    """Accepts and closes."""
    listener = socket.create_server((address, port), backlog=100)
    say("ready")
    while True:
        listener.accept()[0].close()


def attempt():
    began = time.monotonic()
    try:
        socket.create_connection((address, port), timeout=5).close()
    except OSError:
        pass
    if time.monotonic() - began > 0.5:
        say("late")


def crowd():
    """Thirty connections at the same moment, five times a second."""
    say("ready")
    while True:
        for _ in range(30):
            threading.Thread(target=attempt, daemon=True).start()
        time.sleep(0.2)


def names():
    """Leaves every third query without an answer."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((address, port))
    say("ready")
    count = 0
    while True:
        query, client = server.recvfrom(512)
        count += 1
        if count % 3:
            server.sendto(query[:2] + b"\x81\x83" + query[4:], client)


def lookups():
    conn = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    conn.connect((address, port))
    say("ready")
    number = 0
    while True:
        number = (number + 1) % 65536
        conn.send(number.to_bytes(2, "big") + b"\1\0\0\1\0\0\0\0\0\0\4name\0\0\1\0\1")
        if select.select([conn], [], [], 0.7)[0]:
            conn.recv(512)
        else:
            say("late")
        time.sleep(0.05)


def chat():
    conn = socket.create_connection((address, port))
    keep_alive(conn)
    say("ready")
    while True:
        conn.sendall(b"hello")
        conn.recv(100)
        time.sleep(2.6)


globals()[role]()
