# SPDX-License-Identifier: GPL-2.0-or-later
"""A language model behind a web server: the response grows word by word."""

import time

from real import server, threads

HEAD = (b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
        b"Connection: close\r\n\r\n")
TOKEN = b'data: {"token": "word"}\n\n'


@server("python3", name="tokens")
def tokens(room, *, port, first_ms="300", gap_ms="30", count="100"):
    """`count` events, `gap_ms` apart, the first after `first_ms`."""
    return threads.command("tokens", port, first_ms, gap_ms, count)


def serve(port, first_ms, gap_ms, count):
    def handle(client):
        client.recv(4096)
        time.sleep(float(first_ms) / 1000)
        client.sendall(HEAD)
        for _ in range(int(count)):
            client.sendall(TOKEN)
            time.sleep(float(gap_ms) / 1000)
    threads.serve_each(port, handle)
