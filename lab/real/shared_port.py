# SPDX-License-Identifier: GPL-2.0-or-later
"""Workers that share a port by SO_REUSEPORT: the kernel picks one by its hash.

Start several on the same port. If one hangs, its share of the connections or
datagrams hangs with it.
"""

import socket

from real import metered, server, threads


def shared(kind, port):
    door = socket.socket(socket.AF_INET, kind)
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    door.bind(("", int(port)))
    return door


@server("python3", name="tcp-worker")
def tcp_worker(room, *, port, backlog="128"):
    """Serves rr and churn, a thread for each connection."""
    return threads.command("shared_port", port, backlog)


def serve(port, backlog):
    door = shared(socket.SOCK_STREAM, port)
    door.listen(int(backlog))
    threads.serve_clients(door, answer)


def answer(client):
    while True:
        _, resp = threads.read_request(client)
        client.sendall(bytes(resp))


@metered("python3", name="udp-worker")
def udp_worker(meter, room, *, port, rcvbuf="30000"):
    """Serves query; an operation is one response."""
    door = shared(socket.SOCK_DGRAM, port)
    door.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, int(rcvbuf))
    meter.ready()
    while True:
        request, peer = door.recvfrom(1 << 16)
        number, resp = threads.HEADER.unpack_from(request)
        head = threads.HEADER.pack(number, resp)
        door.sendto(head + bytes(max(0, resp - len(head))), peer)
        meter.moved(len(request))
        meter.op()
