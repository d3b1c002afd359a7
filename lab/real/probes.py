# SPDX-License-Identifier: GPL-2.0-or-later
"""Clients whose attempts fail by design: MTU probes, knocks, old peers."""

import errno
import select
import socket
import time

from real import metered, threads
from real.noise import every
from real.racer import ask

IP_MTU_DISCOVER, IP_PMTUDISC_PROBE = 10, 3
HEADERS = 28


@metered("python3", name="mtu-probe")
def mtu_probe(meter, room, *, host, port, first="1300", last="1600", step="20",
              rate="10", wait="0.1"):
    """Datagrams of growing size that must not be fragmented, to queryd.

    An operation is one datagram that was answered; the others are the point
    of the measurement.
    """
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    out.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE)
    out.connect((host, int(port)))
    out.settimeout(float(wait))
    sizes = range(int(first), int(last) + 1, int(step))
    meter.ready()
    for turn, _ in enumerate(every(rate)):
        size = sizes[turn % len(sizes)] - HEADERS
        try:
            out.send(threads.HEADER.pack(turn, 16).ljust(size, b"\0"))
            meter.moved(len(out.recv(100)))
            meter.op()
        except OSError:
            continue


@metered("python3", name="knock")
def knock(meter, room, *, host, knocks, port, rate="2", resp="2000"):
    """SYNs to ports that never answer, then the connection they open."""
    meter.ready()
    for _ in every(rate):
        begin = time.monotonic()
        for door in knocks.split(","):
            with socket.socket() as attempt:
                attempt.setblocking(False)
                attempt.connect_ex((host, int(door)))
                time.sleep(0.05)
        try:
            with socket.create_connection((host, int(port)), 5) as server:
                ask(server, int(resp))
            meter.moved(int(resp))
            meter.op(time.monotonic() - begin)
        except (OSError, EOFError):
            meter.error()


@metered("python3", name="old-peers")
def old_peers(meter, room, *, prefix, first="100", last="150", port="6881",
              rate="4", wait="3"):
    """Connection attempts to addresses of an old list, given up after `wait`.

    An operation is one attempt.
    """
    waiting, number = [], 0
    count = int(last) - int(first) + 1
    meter.ready()
    for _ in every(rate):
        one = socket.socket()
        one.setblocking(False)
        host = f"{prefix}{int(first) + number % count}"
        number += 1
        if one.connect_ex((host, int(port))) != errno.EINPROGRESS:
            one.close()
            continue
        waiting.append((time.monotonic() + float(wait), one))
        meter.op()
        waiting = [pair for pair in waiting if keep(*pair)]


def keep(until, one):
    """False once an attempt has ended or is given up."""
    if time.monotonic() < until and not select.select([], [one], [], 0)[1]:
        return True
    one.close()
    return False
