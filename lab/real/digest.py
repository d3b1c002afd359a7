# SPDX-License-Identifier: GPL-2.0-or-later
"""A client that empties its connection once in a while, like a log shipper."""

import socket
import time

from real import metered

CHUNK = 1 << 18


@metered("python3", name="digest")
def digest(meter, room, *, host, port, every_ms="1000", rcvbuf="1000000"):
    """Reads all that has arrived, then sleeps; an operation is one reading."""
    stream = socket.socket()
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, int(rcvbuf))
    stream.connect((host, int(port)))
    stream.setblocking(False)
    meter.ready()
    while True:
        time.sleep(float(every_ms) / 1000)
        meter.moved(sum(map(len, arrived(stream))))
        meter.op()


def arrived(stream):
    """Chunks until nothing is left."""
    while True:
        try:
            data = stream.recv(CHUNK)
        except BlockingIOError:
            return
        if not data:
            raise SystemExit("the server closed the connection")
        yield data
