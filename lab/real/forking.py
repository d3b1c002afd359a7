# SPDX-License-Identifier: GPL-2.0-or-later
"""A server with a process per connection, which waits when it cannot fork.

Serves rr and churn.
"""

import os
import signal
import socket
import time

import undo
from real import server, threads

RETRY_S = 0.2


@server("python3", name="forking")
def forking(room, *, port, backlog="16"):
    return threads.command("forking", port, backlog)


def serve(port, backlog):
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    door = socket.create_server(("", int(port)), backlog=int(backlog))
    while True:
        client, _ = door.accept()
        with client:
            if fork() == 0:
                undo.die_with_parent()
                door.close()
                answer(client)


def fork():
    while True:
        try:
            return os.fork()
        except BlockingIOError:
            time.sleep(RETRY_S)


def answer(client):
    """The child: until the client leaves."""
    try:
        threads.respond(client)
    except (OSError, EOFError):
        os._exit(0)
