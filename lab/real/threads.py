# SPDX-License-Identifier: GPL-2.0-or-later
"""How the servers in Python speak the protocol of rr, chat and churn."""

import os
import socket
import struct
import sys
import threading

HEADER = struct.Struct(">II")


def command(module, *words):
    """The command line of a server whose function is serve(*words)."""
    text = ("import sys; sys.path.insert(0, sys.argv[1]); "
            f"from real.{module} import serve; serve(*sys.argv[2:])")
    return [sys.executable, "-c", text,
            os.path.dirname(os.path.dirname(os.path.abspath(__file__))), *words]


def receive(client, length):
    """Exactly this many bytes, or EOFError."""
    data = b""
    while len(data) < length:
        part = client.recv(min(length - len(data), 1 << 16))
        if not part:
            raise EOFError
        data += part
    return data


def read_request(client):
    """The lengths of a request that was read, and of its response."""
    size, resp = HEADER.unpack(receive(client, HEADER.size))
    receive(client, size - HEADER.size)
    return size, resp


def respond(client):
    """Responses to a client, until it leaves: OSError or EOFError."""
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while True:
        _, resp = read_request(client)
        client.sendall(bytes(resp))


def serve_each(port, handle, backlog=128):
    """A thread for every connection, for ever."""
    serve_clients(socket.create_server(("", int(port)), backlog=backlog), handle)


def serve_clients(listener, handle):
    """The same on a socket that listens already."""
    def run(client):
        with client:
            try:
                handle(client)
            except (OSError, EOFError):
                return
    while True:
        client, _ = listener.accept()
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=run, args=(client,), daemon=True).start()
