# SPDX-License-Identifier: GPL-2.0-or-later
"""A client that races IPv6 against IPv4 (RFC 8305) and cancels the loser."""

import selectors
import socket
import time

from real import metered, threads
from real.noise import every

PATIENCE = 5.0


def attempt(host, port):
    """A connection that is being made."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    one = socket.socket(family)
    one.setblocking(False)
    one.connect_ex((host, port))
    return one


@metered("python3", name="racer")
def racer(meter, room, *, hosts, port, rate="5", resp="2000"):
    """One request of rr per connection; `hosts` with commas start together."""
    meter.ready()
    for _ in every(rate):
        begin = time.monotonic()
        rivals = [attempt(host, int(port)) for host in hosts.split(",")]
        try:
            ask(first_of(rivals), int(resp))
            meter.moved(int(resp))
            meter.op(time.monotonic() - begin)
        except (OSError, EOFError):
            meter.error()
        for one in rivals:
            one.close()


def first_of(rivals):
    """The first connection that is open; the others are closed at once."""
    with selectors.DefaultSelector() as waiting:
        for one in rivals:
            waiting.register(one, selectors.EVENT_WRITE)
        ready = waiting.select(PATIENCE)
    if not ready:
        raise TimeoutError
    winner = ready[0][0].fileobj
    for one in rivals:
        if one is not winner:
            one.close()
    winner.settimeout(PATIENCE)
    return winner


def ask(server, resp):
    size = threads.HEADER.size
    server.sendall(threads.HEADER.pack(size, resp))
    threads.receive(server, resp)
