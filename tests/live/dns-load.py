#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A name server with programmed delays, and clients of it, for tests of the resolver tools.

    dns-load.py serve ADDRESS       answers on port 53 as the name says, prints "ready" first:
                                    dN.* after N milliseconds, nx.* that there is none, second.* the second time only,
                                    never.* not at all
    dns-load.py ask                 asks it by a socket of its own, prints what it did as JSON
    dns-load.py lookup NAME ...     asks the C library, prints names and errors as JSON
"""
import json
import re
import socket
import struct
import sys
import threading
import time

TYPES = {"A": 1, "AAAA": 28, "TXT": 16}


def name_of(query):
    labels, at = [], 12
    while query[at]:
        labels.append(query[at + 1:at + 1 + query[at]].decode())
        at += 1 + query[at]
    return ".".join(labels), query[12:at + 5], struct.unpack_from(">H", query, at + 1)[0]


def answer_to(query):
    name, question, kind = name_of(query)
    if name.startswith("nx."):
        return struct.pack(">HHHHHH", *struct.unpack_from(">H", query), 0x8183, 1, 0, 0, 0) + question
    family, text = (socket.AF_INET, "192.0.2.5") if kind == 1 else (socket.AF_INET6, "2001:db8::5")
    address = socket.inet_pton(family, text)
    record = struct.pack(">HHHIH", 0xC00C, kind, 1, 60, len(address)) + address
    return struct.pack(">HHHHHH", *struct.unpack_from(">H", query), 0x8180, 1, 1, 0, 0) + question + record


def serve(address):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    server = socket.socket(family, socket.SOCK_DGRAM)
    server.bind((address, 53))
    print("ready", flush=True)
    seen = set()
    while True:
        query, client = server.recvfrom(4096)
        name, _, _ = name_of(query)
        delay = re.match(r"d(\d+)\.", name)
        if name.startswith("never."):
            continue
        if name.startswith("second.") and query not in seen:
            seen.add(query)
            continue
        threading.Timer(int(delay.group(1)) / 1000 if delay else 0, server.sendto, (answer_to(query), client)).start()


def query_of(number, name, kind):
    question = b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"
    return struct.pack(">HHHHHH", number, 0x0100, 1, 0, 0, 0) + question + struct.pack(">HH", TYPES[kind], 1)


def ask():
    done = []

    def step(number, name, kind, server="127.0.0.1", connected=True, tries=1, wait=2.0):
        client = socket.socket(socket.AF_INET6 if ":" in server else socket.AF_INET, socket.SOCK_DGRAM)
        client.settimeout(wait)
        if connected:
            client.connect((server, 53))
        began, result = time.monotonic(), None
        for _ in range(tries):
            try:
                if connected:
                    client.send(query_of(number, name, kind))
                else:
                    client.sendto(query_of(number, name, kind), (server, 53))
                result = client.recv(4096)[3] & 15
                break
            except ConnectionRefusedError:
                result = "ECONNREFUSED"
                break
            except TimeoutError:
                result = "ETIMEDOUT"
        done.append({"id": number, "host": name, "type": kind, "server": server, "result": result,
                     "took_ns": int((time.monotonic() - began) * 1e9)})
        client.close()

    step(0x1111, "d120.slow.example", "A")
    step(0x2222, "nx.example", "AAAA", connected=False)
    step(0x3333, "second.example", "A", tries=2, wait=0.2)
    step(0x4444, "never.example", "TXT", wait=0.3)
    step(0x5555, "nobody.example", "A", server="127.0.0.2", wait=1)
    step(0x6666, "d30.six.example", "AAAA", server="::1")
    step(0x7777, "a" * 60 + "." + "b" * 60 + ".example", "A")
    return done


def lookup(*names):
    done = []
    for name in names:
        try:
            socket.getaddrinfo(name, 80, socket.AF_INET, socket.SOCK_STREAM)
            done.append([name, None])
        except socket.gaierror as error:
            done.append([name, next(key for key in dir(socket) if key.startswith("EAI_")
                                    and getattr(socket, key) == error.errno)])
    return done


if __name__ == "__main__":
    found = {"serve": serve, "ask": ask, "lookup": lookup}[sys.argv[1]](*sys.argv[2:])
    print(json.dumps(found))
