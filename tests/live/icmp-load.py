# SPDX-License-Identifier: GPL-2.0-or-later
"""For icmp-tools.t: packets that cannot be delivered, one socket for each way to fail, by remote port;
and pings that are answered late."""
import errno
import socket
import struct
import sys
import time

FAR4, FAR6 = "10.93.2.2", "fd93:2::2"


def sink():
    """Takes what arrives at two ports, for both versions of IP."""
    listeners = [socket.create_server((FAR4, 29009)), socket.create_server((FAR6, 29010), family=socket.AF_INET6)]
    print("ready", flush=True)
    for listener in listeners:
        with listener.accept()[0] as conn:
            while conn.recv(65536):
                pass


def refused(family, address, times):
    """A connected datagram socket hears of each packet that nobody takes."""
    with socket.socket(family, socket.SOCK_DGRAM) as s:
        s.settimeout(10)
        s.connect(address)
        for _ in range(times):
            s.send(b"x" * 79)
            try:
                s.recv(100)
                sys.exit("somebody answered")
            except ConnectionRefusedError:
                pass


def fails(family, address, want):
    with socket.socket(family, socket.SOCK_STREAM) as s:
        s.settimeout(10)
        try:
            s.connect(address)
        except OSError as error:
            if error.errno != want:
                sys.exit(f"{address}: {error}")
            return
        sys.exit(f"{address}: connected")


def few_hops(family, address, level, option, receive_errors):
    with socket.socket(family, socket.SOCK_DGRAM) as s:
        s.settimeout(10)
        s.setsockopt(level, option, 1)
        s.setsockopt(level, receive_errors, 1)
        s.connect(address)
        s.send(b"x")
        try:
            s.recv(100)
            sys.exit("somebody answered")
        except OSError as error:
            if error.errno != errno.EHOSTUNREACH:
                raise


def large(family, address):
    with socket.socket(family, socket.SOCK_STREAM) as s:
        s.settimeout(20)
        s.connect(address)
        s.sendall(b"x" * 3000)
        s.shutdown(socket.SHUT_WR)
        # The peer ends once it has all.
        if s.recv(1):
            sys.exit("an answer")


def errors():
    refused(socket.AF_INET, (FAR4, 29001), 7)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.sendto(b"x", (FAR4, 29002))
        time.sleep(0.1)
    refused(socket.AF_INET6, (FAR6, 29003), 1)
    fails(socket.AF_INET, ("10.93.3.9", 29004), errno.EHOSTUNREACH)
    fails(socket.AF_INET, ("10.93.4.9", 29005), errno.EHOSTUNREACH)
    fails(socket.AF_INET6, ("fd93:4::9", 29006), errno.EACCES)
    few_hops(socket.AF_INET, (FAR4, 29007), socket.IPPROTO_IP, socket.IP_TTL, 11)
    few_hops(socket.AF_INET6, (FAR6, 29008), socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS, 25)
    large(socket.AF_INET, (FAR4, 29009))
    large(socket.AF_INET6, (FAR6, 29010))


ECHO, REPLY, HEADER = {4: 8, 6: 128}, {4: 0, 6: 129}, {4: 20, 6: 0}


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


def answer(version, how):
    """Answers pings in the kernel's place: SECONDS late, or each when a line comes."""
    proto = socket.IPPROTO_ICMP if version == 4 else socket.IPPROTO_ICMPV6
    with socket.socket(socket.AF_INET if version == 4 else socket.AF_INET6, socket.SOCK_RAW, proto) as s:
        print("ready", flush=True)
        while True:
            data, peer = s.recvfrom(2000)
            echo = data[HEADER[version]:]
            if echo[0] != ECHO[version]:
                continue
            print("asked", flush=True)
            if how == "line":
                sys.stdin.readline()
            else:
                time.sleep(float(how))
            reply = bytes([REPLY[version], 0, 0, 0]) + echo[4:]
            if version == 4:
                reply = reply[:2] + struct.pack("!H", checksum(reply)) + reply[4:]
            s.sendto(reply, peer)
            print("answered", flush=True)


if sys.argv[1] == "answer":
    answer(int(sys.argv[2]), sys.argv[3])
else:
    {"sink": sink, "errors": errors}[sys.argv[1]]()
