# SPDX-License-Identifier: GPL-2.0-or-later
"""A client that sends a whole batch of requests before it reads a response.

Speaks the protocol of rr. A batch that exceeds the buffers of both ends is a
deadlock: the server waits for a reader of its responses, the client for a
reader of its requests.
"""

import socket
import time

from real import metered, threads


@metered("python3", name="pipeliner")
def pipeliner(meter, room, *, host, port, batch="20", size="500", resp="1000",
              pause_ms="50"):
    """An operation is one response; latency is that of the batch."""
    request = threads.HEADER.pack(int(size), int(resp))
    request += bytes(int(size) - len(request))
    peer = socket.create_connection((host, int(port)))
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    meter.ready()
    while True:
        begin = time.monotonic()
        for _ in range(int(batch)):
            peer.sendall(request)
        for _ in range(int(batch)):
            meter.moved(len(threads.receive(peer, int(resp))))
            meter.op(time.monotonic() - begin)
        time.sleep(float(pause_ms) / 1000)
