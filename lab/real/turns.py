# SPDX-License-Identifier: GPL-2.0-or-later
"""A server with one thread that writes each response to its end.

A client that does not read its response keeps everybody else waiting. Serves
rr and churn.
"""

import select
import socket

from real import server, threads


@server("python3", name="turns")
def turns(room, *, port):
    return threads.command("turns", port)


def serve(port):
    door = socket.create_server(("", int(port)), backlog=128)
    open_sockets = [door]
    while True:
        for one in select.select(open_sockets, [], [])[0]:
            if one is door:
                client, _ = door.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                open_sockets.append(client)
            elif not answer(one):
                open_sockets.remove(one)
                one.close()


def answer(client):
    """One request and its response; False at the end of the connection."""
    try:
        _, resp = threads.read_request(client)
        client.sendall(bytes(resp))
    except (OSError, EOFError):
        return False
    return True
