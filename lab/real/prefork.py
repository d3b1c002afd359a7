# SPDX-License-Identifier: GPL-2.0-or-later
"""A server with a fixed number of workers, each of which stays with its client.

Speaks the protocol of rr and churn. A client that keeps its connection open
keeps a worker: when all are taken, new connections wait to be accepted.
"""

import os
import socket

import undo
from real import server, threads


@server("python3", name="prefork")
def prefork(room, *, port, workers="4", backlog="16"):
    return threads.command("prefork", port, workers, backlog)


def serve(port, workers, backlog):
    listener = socket.create_server(("", int(port)), backlog=int(backlog))
    for _ in range(int(workers)):
        if os.fork() == 0:
            undo.die_with_parent()
            work(listener)
    while True:
        os.wait()


def work(listener):
    """One client after the other, for ever."""
    while True:
        client, _ = listener.accept()
        with client:
            try:
                threads.respond(client)
            except (OSError, EOFError):
                continue
