# SPDX-License-Identifier: GPL-2.0-or-later
"""A server that resets every client whose first bytes are not TLS."""

import socket

from real import server, threads

HANDSHAKE = 0x16  # content type of a TLS record


@server("python3", name="tls-only")
def tls_only(room, *, port):
    return threads.command("tls_only", port)


def serve(port):
    threads.serve_each(port, handle)


def handle(client):
    """Closed with unread data, so that the client gets a reset."""
    first = client.recv(1, socket.MSG_PEEK)
    while first and first[0] == HANDSHAKE:
        if not client.recv(1 << 16):
            return
