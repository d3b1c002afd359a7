# SPDX-License-Identifier: GPL-2.0-or-later
"""A server that ends each connection with a reset, after the whole response.

Some devices and balancers do that to save the TIME_WAIT state. Serves churn.
"""

import socket
import time

from real import server, threads
from real.agents import AT_ONCE


@server("python3", name="abrupt")
def abrupt(room, *, port, after_ms="20"):
    """Resets `after_ms` after the response."""
    return threads.command("abrupt", port, after_ms)


def serve(port, after_ms):
    def handle(client):
        _, resp = threads.read_request(client)
        client.sendall(bytes(resp))
        time.sleep(float(after_ms) / 1000)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
    threads.serve_each(port, handle)
