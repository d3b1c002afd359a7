# SPDX-License-Identifier: GPL-2.0-or-later
"""A server with TCP_DEFER_ACCEPT: it wakes up for the first data of a client.

Right where the client speaks first. Where it waits for a greeting, nobody
speaks: the kernel of the server repeats its SYN-ACK. Serves rr and churn.
"""

import socket

from real import server, threads


@server("python3", name="deferred")
def deferred(room, *, port, seconds="10", greet="0"):
    """Greets with `greet` bytes once it has accepted a connection."""
    return threads.command("deferred", port, seconds, greet)


def serve(port, seconds, greet):
    door = socket.create_server(("", int(port)), backlog=128)
    door.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, int(seconds))

    def handle(client):
        client.sendall(bytes(int(greet)))
        while True:
            _, resp = threads.read_request(client)
            client.sendall(bytes(resp))
    threads.serve_clients(door, handle)
