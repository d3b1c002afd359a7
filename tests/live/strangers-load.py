# SPDX-License-Identifier: GPL-2.0-or-later
"""Clients and servers whose traffic fails, for diagnose-strangers.t.

serve ADDRESS PORT: one byte back for each that arrives. visit FROM TO PORT: short connections, each with a timeout of
1 s. once FROM TO PORT: one such connection. tell TO PORT: datagrams, and no answer is read. ask TO PORT: datagrams,
each waits for its answer. leave TO PORT: an exchange every 50 ms until one takes 0.5 s, then the connection is closed.
"""

import socket
import sys
import threading
import time


def serve(address, port):
    listener = socket.create_server((address, port))
    print("ready", flush=True)
    while True:
        threading.Thread(target=echo, args=(listener.accept()[0],), daemon=True).start()


def echo(connection):
    with connection:
        while data := connection.recv(1):
            connection.sendall(data)


def once(source, address, port):
    with socket.create_connection((address, port), timeout=1, source_address=(source, 0)) as s:
        s.sendall(b"x")
        s.recv(1)


def visit(source, address, port):
    print("ready", flush=True)
    while True:
        try:
            once(source, address, port)
        except OSError:
            pass
        time.sleep(0.1)


def tell(address, port):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    print("ready", flush=True)
    for n in range(1 << 30):
        s.sendto(b"requests:%d" % n, (address, port))
        time.sleep(0.05)


def ask(address, port):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(0.6)
    print("ready", flush=True)
    for n in range(1 << 30):
        s.sendto(b"what is %d" % n, (address, port))
        try:
            s.recv(100)
        except OSError:
            pass


def leave(address, port):
    s = socket.create_connection((address, port), timeout=0.5)
    while True:
        try:
            s.sendall(b"x")
            s.recv(1)
        except OSError:
            break
        print("ready", flush=True)
        time.sleep(0.05)
    s.close()
    time.sleep(600)


ROLES = {f.__name__: f for f in (serve, once, visit, tell, ask, leave)}
ROLES[sys.argv[1]](*[int(a) if a.isdigit() else a for a in sys.argv[2:]])
