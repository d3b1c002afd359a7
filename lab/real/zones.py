# SPDX-License-Identifier: GPL-2.0-or-later
"""A resolver whose lookups in one domain fail after a while.

As when the name servers of that domain are dead: the resolver gives up late,
with SERVFAIL. Other names exist in `domain` alone.
"""

import socket
import struct
import threading

from real import server, threads

HEADER_LEN, TYPE_A, TTL = 12, 1, 60
SERVFAIL, NXDOMAIN = 2, 3


@server("python3", name="zones")
def zones(room, *, port, domain, address, late, late_ms="0"):
    """late_ms=0: names of the domain `late` do not exist, said at once."""
    return threads.command("zones", port, domain, address, late, late_ms)


def serve(port, domain, address, late, late_ms):
    door = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    door.bind(("", int(port)))
    while True:
        query, peer = door.recvfrom(512)
        name, kind, end = question(query)
        if name.endswith("." + late) and float(late_ms):
            threading.Timer(float(late_ms) / 1000, door.sendto, (
                reply(query[:end], SERVFAIL), peer)).start()
        elif name.endswith("." + domain):
            door.sendto(reply(query[:end], 0, address if kind == TYPE_A
                              else None), peer)
        else:
            door.sendto(reply(query[:end], NXDOMAIN), peer)


def question(query):
    """Name and type of the question, and where it ends."""
    labels, at = [], HEADER_LEN
    while query[at]:
        labels.append(query[at + 1:at + 1 + query[at]].decode())
        at += query[at] + 1
    return ".".join(labels).lower(), *struct.unpack_from("!H", query, at + 1), \
        at + 5


def reply(query, code, address=None):
    """The question with a code, and one address if there is one."""
    answer = struct.pack("!HHHIH", 0xc00c, TYPE_A, 1, TTL, 4) \
        + socket.inet_aton(address) if address else b""
    return query[:2] + struct.pack("!HHHHH", 0x8180 | code, 1, bool(address),
                                   0, 0) + query[HEADER_LEN:] + answer
