# SPDX-License-Identifier: GPL-2.0-or-later
"""A server with a bug of edge-triggered epoll: one read per event.

What a read leaves in the receive queue stays there until more data arrives. A
request that fits one read is served at once. Serves rr and churn.
"""

import select
import socket

from real import server, threads


@server("python3", name="edge")
def edge(room, *, port, piece="1024"):
    """Reads up to `piece` bytes per event."""
    return threads.command("edge", port, piece)


def serve(port, piece):
    door = socket.create_server(("", int(port)), backlog=128)
    poll, clients = select.epoll(), {}
    poll.register(door, select.EPOLLIN)
    while True:
        for number, _ in poll.poll():
            if number == door.fileno():
                client, _ = door.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                poll.register(client, select.EPOLLIN | select.EPOLLET)
                clients[client.fileno()] = client, bytearray()
            elif not advance(*clients[number], int(piece)):
                clients.pop(number)[0].close()


def advance(client, request, piece):
    """One read and the response, if the request is complete; False at the end."""
    try:
        data = client.recv(piece)
        request += data
        if len(request) >= threads.HEADER.size:
            size, resp = threads.HEADER.unpack_from(request)
            if len(request) >= size:
                client.sendall(bytes(resp))
                del request[:size]
    except OSError:
        return False
    return bool(data)
