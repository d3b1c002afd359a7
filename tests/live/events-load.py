#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Traffic with known numbers, for tests of events.

    events-load.py serve PORT REPLY        answers each connection with REPLY bytes, prints "ready" first
    events-load.py ask PORT TIMES BYTES    TIMES connections, one after the other, each sending BYTES
    events-load.py burst PORT TIMES        TIMES connections, opened and closed without data, both ends here
    events-load.py named PORT NAME         one connection of a process with this name (escapes as in Python)
    events-load.py family PORT FILE        a parent with a child; when FILE appears it makes another; each sends once
    events-load.py bytes PORT              sends and receives odd amounts by every way of doing it, prints them as JSON
"""
import json
import os
import socket
import sys
import threading
import time


def read_all(connection):
    total = 0
    while True:
        data = connection.recv(65536)
        if not data:
            return total
        total += len(data)


def serve(port, reply):
    listener = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    listener.bind(("::", port))
    listener.listen(1024)
    print("ready", flush=True)
    answer = b"a" * reply
    while True:
        connection, _ = listener.accept()
        connection.recv(65536)
        connection.sendall(answer)
        connection.close()


def ask(port, times, amount):
    question = b"q" * amount
    for i in range(times):
        connection = socket.create_connection(("127.0.0.1" if i % 2 else "::1", port))
        connection.sendall(question)
        read_all(connection)
        connection.close()


def burst(port, times):
    listener = socket.create_server(("127.0.0.1", port), backlog=4096)
    child = os.fork()
    if child == 0:
        for _ in range(times):
            listener.accept()[0].close()
        os._exit(0)
    listener.close()
    for i in range(times):
        # More addresses than one: ports that were just used stay used for a while.
        connection = socket.socket()
        connection.bind(("127.0.0.%d" % (1 + i % 8), 0))
        connection.connect(("127.0.0.1", port))
        connection.close()
    os.waitpid(child, 0)


def named(port, name):
    raw = name.encode().decode("unicode_escape").encode("latin-1")
    with open("/proc/self/comm", "wb", 0) as comm:
        comm.write(raw)
    burst(port, 1)


def family(port, path):
    listener = socket.create_server(("127.0.0.1", port))

    def child(amount):
        pid = os.fork()
        if pid == 0:
            while not os.path.exists(path):
                time.sleep(0.02)
            connection = socket.create_connection(("127.0.0.1", port))
            connection.sendall(b"c" * amount)
            connection.close()
            os._exit(0)
        return pid

    first = child(11)
    print("ready", flush=True)
    while not os.path.exists(path):
        time.sleep(0.02)
    second = child(22)
    for pid in (first, second):
        os.waitpid(pid, 0)
        read_all(listener.accept()[0])


# Each way moves an odd number of bytes from one end to the other.
def by_write(connection):
    return os.write(connection.fileno(), b"w" * 1237)


def by_sendmsg(connection):
    return connection.sendmsg([b"1" * 11, b"2" * 333, b"3" * 7])


def by_sendfile(connection):
    with open(__file__, "rb") as source:
        return os.sendfile(connection.fileno(), source.fileno(), 0, 701)


def by_splice(connection):
    reader, writer = os.pipe()
    os.write(writer, b"s" * 509)
    return os.splice(reader, connection.fileno(), 509)


def move(way, port):
    listener = socket.create_server(("127.0.0.1", port), reuse_port=False)
    received = []
    reader = threading.Thread(target=lambda: received.append(read_all(listener.accept()[0])))
    reader.start()
    connection = socket.create_connection(("127.0.0.1", port))
    sent = way(connection)
    local = connection.getsockname()[1]
    connection.close()
    reader.join()
    listener.close()
    return {"way": way.__name__, "port": local, "sent": sent, "received": received[0]}


def move_bytes(port):
    ways = [by_write, by_sendmsg, by_sendfile]
    if hasattr(os, "splice"):
        ways.append(by_splice)
    print(json.dumps([move(way, port + i) for i, way in enumerate(ways)]))


if __name__ == "__main__":
    command, words = sys.argv[1], [int(word) if word.isdigit() else word for word in sys.argv[2:]]
    {"serve": serve, "ask": ask, "burst": burst, "named": named, "family": family, "bytes": move_bytes}[command](*words)
