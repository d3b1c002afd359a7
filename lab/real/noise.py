# SPDX-License-Identifier: GPL-2.0-or-later
"""What a host hears and answers beside its own traffic."""

import errno
import select
import socket
import struct
import time

from real import meter as meters, metered, path_of

ROUTER_ADVERTISEMENT = 134
RST, ACK = 0x04, 0x10


def every(rate):
    """Yields at a steady rate, without catching up."""
    pause = 1 / float(rate)
    while True:
        yield
        time.sleep(pause)


@metered("ping")
def ping(meter, room, *, host, interval="0.2", size="56"):
    """Echo requests; an operation is one reply."""
    process = meters.start([path_of("ping"), "-n", "-i", interval, "-s", size,
                            host])
    meter.ready()
    for line in process.stdout:
        words = line.split(b"time=")
        if len(words) == 2:
            meter.op(float(words[1].split()[0]) / 1000)
        elif b"Unreachable" in line or b"error" in line:
            meter.error()


@metered("python3", name="scan")
def scan(meter, room, *, host, first="1", last="1000", rate="50", wait="0.2"):
    """Connection attempts, port by port; an operation is one attempt.

    A port that does not reply within `wait` seconds is given up.
    """
    meter.ready()
    port = int(first)
    for _ in every(rate):
        with socket.socket() as attempt:
            attempt.setblocking(False)
            if attempt.connect_ex((host, port)) == errno.EINPROGRESS:
                select.select([], [attempt], [], float(wait))
        meter.op()
        port = port + 1 if port < int(last) else int(first)


@metered("python3", name="sweep")
def sweep(meter, room, *, prefix, first="100", last="250", port="33434",
          rate="20"):
    """Datagrams to one address after another; the last part is counted up.

    The prefix ends with a dot or a colon: 10.77.2. or fd77:2::
    """
    family = socket.AF_INET6 if ":" in prefix else socket.AF_INET
    out = socket.socket(family, socket.SOCK_DGRAM)
    meter.ready()
    host = int(first)
    for _ in every(rate):
        out.sendto(bytes(40), (f"{prefix}{host}", int(port)))
        meter.op()
        host = host + 1 if host < int(last) else int(first)


@metered("python3", name="hops")
def hops(meter, room, *, host, last="3", port="33434", rate="10"):
    """Datagrams with a TTL of 1, 2 ... `last`, as traceroute sends them.

    An operation is one datagram.
    """
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    meter.ready()
    sent = 0
    for _ in every(rate):
        out.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, 1 + sent % int(last))
        out.sendto(bytes(32), (host, int(port) + sent % 100))
        meter.op()
        sent += 1


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return 0xffff - total


def bare_segment(source, host, ports, sequence, flags):
    """A TCP header without options or data."""
    def header(value):
        return struct.pack("!HHIIBBHHH", *ports, sequence, sequence, 0x50,
                           flags, 1024, value, 0)
    pseudo = (socket.inet_aton(source) + socket.inet_aton(host)
              + struct.pack("!HH", socket.IPPROTO_TCP, 20))
    return header(checksum(pseudo + header(0)))


@metered("python3", name="strays")
def strays(meter, room, *, source, host, port, rate="20"):
    """ACK and RST segments of connections that do not exist, in turn."""
    out = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP)
    meter.ready()
    sent = 0
    for _ in every(rate):
        flags = ACK if sent % 2 else ACK | RST
        ports = (20000 + sent % 20000, int(port))
        out.sendto(bare_segment(source, host, ports, sent * 7919, flags),
                   (host, 0))
        meter.op()
        sent += 1


@metered("python3", name="announce")
def announce(meter, room, *, source, group, port="5353", rate="20",
             size="300"):
    """Datagrams to a multicast group or a broadcast address."""
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    out.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    out.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF,
                   socket.inet_aton(source))
    out.bind((source, 0))
    meter.ready()
    for _ in every(rate):
        out.sendto(bytes(int(size)), (group, int(port)))
        meter.op()


@metered("python3", name="advertise")
def advertise(meter, room, *, dev, rate="5"):
    """IPv6 router advertisements without a prefix, lifetime 0."""
    out = socket.socket(socket.AF_INET6, socket.SOCK_RAW,
                        socket.IPPROTO_ICMPV6)
    out.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
    index = socket.if_nametoindex(dev)
    message = struct.pack("!BBHBBHII", ROUTER_ADVERTISEMENT, 0, 0, 64, 0, 0,
                          0, 0)
    meter.ready()
    for _ in every(rate):
        out.sendto(message, ("ff02::1", 0, 0, index))
        meter.op()
