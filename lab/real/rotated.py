# SPDX-License-Identifier: GPL-2.0-or-later
"""A server that opens its log anew for each request, as after a rotation.

With leak=1 it never closes the file it wrote to before: files take all of its
descriptors, and none is left for a new connection. Serves rr and churn; open
connections are answered further on, without a line in the log.
"""

import os
import resource
import socket
import threading
import time

from real import server, threads

RETRY_S = 0.1


@server("python3", name="rotated")
def rotated(room, *, port, leak="0", descriptors="64"):
    return threads.command("rotated", port, leak, descriptors,
                           room.place("log"))


def serve(port, leak, descriptors, path):
    resource.setrlimit(resource.RLIMIT_NOFILE, (int(descriptors),) * 2)
    door = socket.create_server(("", int(port)), backlog=128)
    while True:
        try:
            client, _ = door.accept()
        except OSError:
            # Out of descriptors: the connection stays in the accept queue.
            time.sleep(RETRY_S)
            continue
        threading.Thread(target=respond, args=(client, path, int(leak)),
                         daemon=True).start()


def respond(client, path, leak):
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with client:
        try:
            while True:
                _, resp = threads.read_request(client)
                note(path, leak)
                client.sendall(bytes(resp))
        except (OSError, EOFError):
            return


def note(path, leak):
    """One line in the log, if a descriptor is left for it."""
    try:
        log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError:
        return
    os.write(log, b"request\n")
    if not leak:
        os.close(log)
