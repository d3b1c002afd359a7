# SPDX-License-Identifier: GPL-2.0-or-later
"""A server that may forget to close connections that its clients closed.

Each of them stays in CLOSE_WAIT and keeps a descriptor; the limit of the
process is small. A response follows whatever a client sends.
"""

import resource
import selectors
import socket
import time

from real import server
from real.script import command_of

RETRY = 0.1


@server("python3", name="leaky")
def leaky(room, *, port, resp="1000", leak="0", descriptors="64"):
    return command_of("leaky", port, resp, leak, descriptors)


def serve(port, resp, leak, descriptors):
    """The server process."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (int(descriptors),) * 2)
    listener = socket.create_server(("", int(port)), backlog=128)
    waiting, forgotten = selectors.DefaultSelector(), []
    waiting.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in waiting.select():
            if key.fileobj is listener:
                welcome(listener, waiting)
            elif not answer(key.fileobj, bytes(int(resp))):
                waiting.unregister(key.fileobj)
                if int(leak):
                    forgotten.append(key.fileobj)
                else:
                    key.fileobj.close()


def welcome(listener, waiting):
    try:
        waiting.register(listener.accept()[0], selectors.EVENT_READ)
    except OSError:
        # Out of descriptors: the connection stays in the accept queue.
        time.sleep(RETRY)


def answer(client, response):
    """False when the client is done."""
    try:
        if not client.recv(1 << 16):
            return False
        client.sendall(response)
        return True
    except OSError:
        return False
