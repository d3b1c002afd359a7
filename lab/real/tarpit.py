# SPDX-License-Identifier: GPL-2.0-or-later
"""A tarpit: keeps password guessers waiting with a banner that never ends."""

import socket
import threading
import time

from real import metered, server, threads


@server("python3", name="tarpit")
def tarpit(room, *, port, every_s="3"):
    """One line per client and `every_s`; never reads."""
    return threads.command("tarpit", port, every_s)


def serve(port, every_s):
    def handle(client):
        while True:
            client.sendall(b"tarpit\r\n")
            time.sleep(float(every_s))
    threads.serve_each(port, handle)


@metered("python3", name="guessers")
def guessers(meter, room, *, host, port, count="20"):
    """Clients that send a banner and wait for the end of the server's.

    An operation is one line that arrived.
    """
    def guess():
        with socket.create_connection((host, int(port))) as peer:
            peer.sendall(b"SSH-2.0-guess\r\n")
            while data := peer.recv(4096):
                meter.moved(len(data))
                meter.op()
    meter.ready()
    crew = [threading.Thread(target=guess) for _ in range(int(count))]
    for one in crew:
        one.start()
    for one in crew:
        one.join()
