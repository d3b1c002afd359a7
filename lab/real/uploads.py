# SPDX-License-Identifier: GPL-2.0-or-later
"""Uploads that wait for "100 Continue" before they send the body.

curl waits a second for it. A server that knows the header replies at once, one
that does not (`interim=0`) waits for the body in silence.
"""

import socket

from real import metered, path_of, server, threads
from real.web import fetch_often

END_OF_HEAD = b"\r\n\r\n"


@server("python3", name="store")
def store(room, *, port, interim="1"):
    """A web server that accepts uploads, a thread per connection."""
    return threads.command("uploads", port, interim)


def serve(port, interim):
    threads.serve_each(port, lambda client: take(client, int(interim)))


def take(client, interim):
    head = b""
    while END_OF_HEAD not in head:
        data = client.recv(1 << 16)
        if not data:
            return
        head += data
    head, _, body = head.partition(END_OF_HEAD)
    fields = dict(line.lower().split(b": ", 1)
                  for line in head.split(b"\r\n")[1:])
    if interim and b"expect" in fields:
        client.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
    threads.receive(client, int(fields[b"content-length"]) - len(body))
    client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"
                   b"Connection: close\r\n\r\nok")
    client.shutdown(socket.SHUT_WR)
    client.recv(1)


@metered("curl", name="curl-upload")
def curl_upload(meter, room, *, url, size="20000", interval_ms="200",
                timeout="10"):
    """An upload per process; an operation is one with status 200."""
    body = room.place("body")
    with open(body, "wb") as file:
        file.truncate(int(size))
    command = [path_of("curl"), "-q", "--silent", "--noproxy", "*",
               "--max-time", timeout, "--upload-file", body, "--header",
               "Expect: 100-continue", "--write-out",
               "%{stderr}%{http_code} %{time_total}", url]
    fetch_often(meter, command, interval_ms)
