# SPDX-License-Identifier: GPL-2.0-or-later
"""A web server with a fixed pool of threads, each of which asks a backend.

Every worker has one connection to the backend and blocks on it: when the
backend is slow the pool is used up, and new requests wait to be accepted.
"""

import http.client
import socket
import threading

from real import server
from real.script import command_of

PATIENCE = 30.0


@server("python3", name="workers")
def workers(room, *, port, backend, threads="4", resp="2000"):
    return command_of("workers", port, backend, threads, resp)


def serve(port, backend, threads, resp):
    """The server process: every thread accepts by itself."""
    listener = socket.create_server(("", int(port)), backlog=128)
    body = bytes(int(resp))
    response = (f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n"
                "Connection: close\r\n\r\n").encode() + body
    crew = [threading.Thread(target=work, args=(listener, backend, response))
            for _ in range(int(threads))]
    for one in crew:
        one.start()
    for one in crew:
        one.join()


def work(listener, backend, response):
    upstream = http.client.HTTPConnection(backend, timeout=PATIENCE)
    while True:
        client, _ = listener.accept()
        with client:
            client.settimeout(PATIENCE)
            try:
                answer(client, upstream, response)
            except (OSError, http.client.HTTPException):
                upstream.close()


def answer(client, upstream, response):
    client.recv(4096)
    upstream.request("GET", "/")
    upstream.getresponse().read()
    client.sendall(response)
    # Close after the client: a reset would cut the response.
    client.shutdown(socket.SHUT_WR)
    client.recv(1)
