# SPDX-License-Identifier: GPL-2.0-or-later
"""For ip-tools.t: packets with marks of congestion, packets in fragments, and fragments without the rest."""
import socket
import struct
import sys

FAR4, FAR6 = "10.94.0.2", "fd94::2"
IPV6_TCLASS = 67
IP_MTU_DISCOVER = 10


def datagrams(marks):
    """So many packets with each mark, by both versions of IP."""
    for family, far, level, option in ((socket.AF_INET, FAR4, socket.IPPROTO_IP, socket.IP_TOS),
                                       (socket.AF_INET6, FAR6, socket.IPPROTO_IPV6, IPV6_TCLASS)):
        with socket.socket(family, socket.SOCK_DGRAM) as s:
            for mark, times in marks.items():
                s.setsockopt(level, option, 0x20 | mark)
                for _ in range(times):
                    s.sendto(b"x" * 79, (far, 29020))


def bulk():
    with socket.create_connection((FAR4, 29021)) as s:
        s.sendall(b"x" * 79190)
        s.shutdown(socket.SHUT_WR)
        s.recv(1)


def sink():
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM), socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)]
    for s, far in zip(sockets, (FAR4, FAR6)):
        s.bind((far, 29022))
    listener = socket.create_server((FAR4, 29021))
    print("ready", flush=True)
    with listener.accept()[0] as conn:
        while conn.recv(65536):
            pass
    for s in sockets:
        for _ in range(7):
            s.recv(65536)
    print("all", flush=True)
    sys.stdin.read()


def large():
    for family, far in ((socket.AF_INET, FAR4), (socket.AF_INET6, FAR6)):
        with socket.socket(family, socket.SOCK_DGRAM) as s:
            if family == socket.AF_INET:
                s.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, 0)
            for _ in range(7):
                s.sendto(b"x" * 7919, (far, 29022))


def parts(version, first, count):
    """First fragments whose rest never comes."""
    payload = struct.pack("!HHHH", 29023, 29022, 3008, 0) + b"x" * 1000
    if version == 4:
        with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as s:
            for number in range(first, first + count):
                header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), number, 0x2000, 64, 17, 0,
                                     socket.inet_aton("10.94.0.1"), socket.inet_aton(FAR4))
                s.sendto(header + payload, (FAR4, 0))
    else:
        with socket.socket(socket.AF_INET6, socket.SOCK_RAW, 44) as s:
            for number in range(first, first + count):
                s.sendto(struct.pack("!BBHI", 17, 0, 1, number) + payload, (FAR6, 0))


if sys.argv[1] == "marks":
    datagrams({3: 37, 2: 19, 1: 11, 0: 5})
elif sys.argv[1] == "parts":
    parts(*map(int, sys.argv[2:]))
else:
    {"bulk": bulk, "sink": sink, "large": large}[sys.argv[1]]()
