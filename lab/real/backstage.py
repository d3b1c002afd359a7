# SPDX-License-Identifier: GPL-2.0-or-later
"""A server in front of an application server on a Unix socket of the same host.

The socket is abstract, so it belongs to the network namespace. The front
speaks the protocol of rr and churn and asks the back for each request.
"""

import socket
import threading

from real import metered, server, threads

NAME = "\0nestlab-backstage"
PATIENCE = 60.0


@server("python3", name="front")
def front(room, *, port):
    return threads.command("backstage", port)


def serve(port):
    def handle(client):
        with socket.socket(socket.AF_UNIX) as back:
            back.settimeout(PATIENCE)
            back.connect(NAME)
            while True:
                _, resp = threads.read_request(client)
                back.sendall(b"?")
                threads.receive(back, 1)
                client.sendall(bytes(resp))
    threads.serve_each(port, handle)


@metered("python3", name="back")
def back(meter, room):
    """Answers at once; an operation is one answer."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(NAME)
    listener.listen(128)
    meter.ready()
    while True:
        client, _ = listener.accept()
        threading.Thread(target=answer, args=(meter, client),
                         daemon=True).start()


def answer(meter, client):
    with client:
        while client.recv(1):
            client.sendall(b"!")
            meter.op()
