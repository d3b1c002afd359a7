# SPDX-License-Identifier: GPL-2.0-or-later
"""A web server with a single worker: requests wait for the one before them.

GET /slow occupies the worker for a while, asleep or computing (spin=1), every
other path is answered at once. Each response closes its connection.
"""

import socket
import time

from real import server
from real.script import command_of

PATIENCE = 5.0


@server("python3", name="serial")
def serial(room, *, port, resp="2000", slow_ms="1000", spin="0"):
    return command_of("serial", port, resp, slow_ms, spin)


def compute(seconds):
    """Uses this much CPU time."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(1000))


def serve(port, resp, slow_ms, spin):
    """The server process: one connection at a time, for ever."""
    listener = socket.create_server(("", int(port)), backlog=128)
    body = bytes(int(resp))
    head = (f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n"
            "Connection: close\r\n\r\n").encode()
    occupy = compute if int(spin) else time.sleep
    while True:
        client, _ = listener.accept()
        with client:
            client.settimeout(PATIENCE)
            try:
                answer(client, head + body, occupy, float(slow_ms) / 1000)
            except OSError:
                continue


def answer(client, response, occupy, slow_s):
    request = client.recv(4096)
    if request.startswith(b"GET /slow"):
        occupy(slow_s)
    client.sendall(response)
    # Close after the client: a reset would cut the response.
    client.shutdown(socket.SHUT_WR)
    client.recv(1)
