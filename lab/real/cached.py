# SPDX-License-Identifier: GPL-2.0-or-later
"""A service that asks a cache first, and the database if the cache fails.

Serves rr and churn, and speaks the same protocol to both.
"""

import socket

from real import server, threads
from real.script import address_of

PATIENCE = 30.0


@server("python3", name="cached")
def cached(room, *, port, cache, database):
    return threads.command("cached", port, cache, database)


def serve(port, cache, database):
    def handle(client):
        stores = [Store(cache), Store(database)]
        while True:
            _, resp = threads.read_request(client)
            client.sendall(first_reply(stores, resp))
    threads.serve_each(port, handle)


def first_reply(stores, resp):
    for one in stores[:-1]:
        try:
            return one.ask(resp)
        except (OSError, EOFError):
            one.forget()
    return stores[-1].ask(resp)


class Store:
    """One connection to a server of rr; made again after a failure."""

    def __init__(self, address):
        self.address, self.peer = address_of(address), None

    def ask(self, resp):
        if self.peer is None:
            self.peer = socket.create_connection(self.address, PATIENCE)
            self.peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.peer.sendall(threads.HEADER.pack(threads.HEADER.size, resp))
        return threads.receive(self.peer, resp)

    def forget(self):
        if self.peer is not None:
            self.peer.close()
            self.peer = None
