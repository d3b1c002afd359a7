# SPDX-License-Identifier: GPL-2.0-or-later
"""For drop-counters.t: packets that the other end drops, each for another reason."""
import ctypes
import errno
import socket
import struct
import sys
import time

NEAR4, FAR4, NEAR6, FAR6 = "10.96.0.1", "10.96.0.2", "fd96::1", "fd96::2"
TCP_MD5SIG = 14
SO_ATTACH_FILTER = 26
IP_MINTTL = 21


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


def ipv4(proto, payload, source=NEAR4, destination=FAR4, first=0x45, wrong=0):
    def header(check):
        return struct.pack("!BBHHHBBH4s4s", first, 0, 20 + len(payload), 77, 0, 64, proto, check,
                           socket.inet_aton(source), socket.inet_aton(destination))
    return header(checksum(header(0)) ^ wrong) + payload


def ipv6(proto, payload, destination=FAR6):
    return struct.pack("!IHBB16s16s", 6 << 28, len(payload), proto, 64, socket.inet_pton(socket.AF_INET6, NEAR6),
                       socket.inet_pton(socket.AF_INET6, destination)) + payload


def frames(dev, link):
    """Packets that no honest stack would send."""
    udp = struct.pack("!HHHH", 29030, 29030, 8 + 79, 0xBAD) + b"x" * 79
    read = struct.pack("!HHHH", 29030, 29037, 8 + 79, 0xBAD) + b"x" * 79
    tcp = struct.pack("!HHIIBBHHH", 29030, 29031, 1, 0, 0x50, 2, 1000, 0xBAD, 0)
    echo = struct.pack("!BBHHH", 8, 0, 0xBAD, 1, 1)
    wrong = [
        (0x0800, ipv4(17, udp), 5), (0x86DD, ipv6(17, read), 3),
        (0x0800, ipv4(6, tcp), 7), (0x86DD, ipv6(6, tcp), 2),
        (0x0800, ipv4(1, echo), 4), (0x86DD, ipv6(58, struct.pack("!BBHHH", 128, 0, 0xBAD, 1, 1)), 3),
        (0x0800, ipv4(253, b"x" * 79), 6), (0x86DD, ipv6(253, b"x" * 79), 5),
        (0x0800, ipv4(17, udp, first=0x44), 3), (0x0800, ipv4(17, udp, wrong=0x77), 8),
        (0x0800, ipv4(17, udp, source="10.98.7.7"), 9),
        (0x0800, ipv4(17, udp, destination="10.97.7.7"), 11), (0x86DD, ipv6(17, udp, destination="fd97::7"), 4),
    ]
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM) as s:
        for protocol, packet, times in wrong:
            for _ in range(times):
                s.sendto(packet, (dev, protocol, 0, 0, bytes.fromhex(link.replace(":", ""))))


def closed_ports():
    for family, far in ((socket.AF_INET, FAR4), (socket.AF_INET6, FAR6)):
        with socket.socket(family, socket.SOCK_DGRAM) as s:
            for _ in range(7):
                s.sendto(b"x", (far, 29032))
        for _ in range(4):
            with socket.socket(family, socket.SOCK_STREAM) as s:
                if s.connect_ex((far, 29032)) != errno.ECONNREFUSED:
                    sys.exit("somebody listens")


def overflow():
    for family, far in ((socket.AF_INET, FAR4), (socket.AF_INET6, FAR6)):
        with socket.socket(family, socket.SOCK_DGRAM) as s:
            for _ in range(53):
                s.sendto(b"x" * 1000, (far, 29033))


def refuse_quietly():
    """SYNs that are dropped without an answer."""
    for port in (29035, 29036):
        with socket.socket() as s:
            s.settimeout(0.3)
            if s.connect_ex((FAR4, port)) == 0:
                sys.exit("connected")


def late_data():
    with socket.create_connection((FAR4, 29034)) as s:
        # The other end wants to hear no more.
        if s.recv(1):
            sys.exit("an answer")
        s.send(b"x" * 79)
        time.sleep(0.1)


def server():
    full = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM), socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)]
    for s, far in zip(full, (FAR4, FAR6)):
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.bind((far, 29033))
    closer = socket.create_server((FAR4, 29034))
    near = socket.socket()
    near.setsockopt(socket.IPPROTO_IP, IP_MINTTL, 255)
    signed = socket.socket()
    address = struct.pack("=HH4s", socket.AF_INET, 0, socket.inet_aton(NEAR4)).ljust(128, b"\0")
    try:
        signed.setsockopt(socket.IPPROTO_TCP, TCP_MD5SIG, address + struct.pack("=BBHI80s", 0, 0, 3, 0, b"key"))
    except OSError as error:
        print("unsigned", error, flush=True)
    for s, port in ((near, 29035), (signed, 29036)):
        s.bind((FAR4, port))
        s.listen()
    # With nobody there, IPv6 calls a packet with a wrong sum one for nobody; with a filter
    # the sum is looked at on arrival.
    reader = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    take_all = ctypes.create_string_buffer(struct.pack("=HBBI", 0x06, 0, 0, 0xFFFFFFFF))
    reader.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HP", 1, ctypes.addressof(take_all)))
    reader.bind((FAR6, 29037))
    print("ready", flush=True)
    with closer.accept()[0] as conn:
        conn.shutdown(socket.SHUT_RDWR)
        sys.stdin.read()


if sys.argv[1] == "server":
    server()
else:
    frames(sys.argv[2], sys.argv[3])
    closed_ports()
    overflow()
    refuse_quietly()
    late_data()
