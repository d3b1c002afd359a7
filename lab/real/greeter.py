# SPDX-License-Identifier: GPL-2.0-or-later
"""A server that looks up the name of each client before it answers.

As login and database servers do for their logs and access rules. Its resolver
is its own; a response follows whatever a client sends.
"""

import socket
import threading

from real import server
from real.script import command_of
from real.web import use_resolver

PATIENCE = 30.0


@server("python3", name="greeter")
def greeter(room, *, port, resolver, resp="1000"):
    return command_of("greeter", port, resolver, resp)


def serve(port, resolver, resp):
    """The server process: a thread for each client."""
    use_resolver(resolver)
    listener = socket.create_server(("", int(port)), backlog=128)
    while True:
        client, address = listener.accept()
        threading.Thread(target=greet, daemon=True,
                         args=(client, address[0], bytes(int(resp)))).start()


def greet(client, address, response):
    with client:
        client.settimeout(PATIENCE)
        try:
            socket.gethostbyaddr(address)
        except socket.herror:
            pass  # nobody has a name here
        try:
            if client.recv(1 << 16):
                client.sendall(response)
                client.recv(1)
        except OSError:
            return
