# SPDX-License-Identifier: GPL-2.0-or-later
"""A TCP proxy: carries the bytes of each client to one address and back.

It accepts every client at once and serves `limit` of them at a time, as
balancers with a connection limit do: the others wait, connected and unread.
"""

import socket
import threading
import time

from real import server
from real.script import address_of, command_of

CHUNK = 1 << 16


@server("python3", name="forward")
def forward(room, *, port, to, limit="1000"):
    return command_of("forward", port, to, limit)


def serve(port, to, limit):
    """The server process."""
    listener = socket.create_server(("", int(port)), backlog=128)
    places = threading.Semaphore(int(limit))
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            time.sleep(0.05)  # out of descriptors: those in use may be closed
            continue
        threading.Thread(target=carry, daemon=True,
                         args=(client, address_of(to), places)).start()


def carry(client, target, places):
    with client, places:
        try:
            with socket.create_connection(target) as upstream:
                for one in (client, upstream):
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                back = threading.Thread(target=copy, args=(upstream, client))
                back.start()
                copy(client, upstream)
                back.join()
        except OSError:
            return


def copy(source, target):
    """Until the end of the stream, or until either side fails."""
    try:
        while data := source.recv(CHUNK):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        for one in (source, target):
            hang_up(one)


def hang_up(connection):
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
