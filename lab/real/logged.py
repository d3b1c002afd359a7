# SPDX-License-Identifier: GPL-2.0-or-later
"""A server that sends a line of its log over TCP before each response.

When nobody reads the log, the server waits. Serves rr and churn.
"""

import socket
import threading

from real import server, threads
from real.script import address_of

SEND_BUFFER = 60000


@server("python3", name="logged")
def logged(room, *, port, log, line="2000"):
    """`line` bytes per request to the address `log`."""
    return threads.command("logged", port, log, line)


def serve(port, log, line):
    out = socket.create_connection(address_of(log))
    out.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
    text, turn = bytes(int(line)), threading.Lock()

    def handle(client):
        while True:
            _, resp = threads.read_request(client)
            with turn:
                out.sendall(text)
            client.sendall(bytes(resp))
    threads.serve_each(port, handle)
