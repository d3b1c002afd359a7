# SPDX-License-Identifier: GPL-2.0-or-later
"""A server that is deployed every few seconds, without a gap.

A new worker takes over the listening socket; the old one closes each of its
connections after the next response. Serves rr and churn.
"""

import os
import select
import signal
import socket
import threading
import time

import undo
from real import server, threads

TURN_S, DRAIN_S = 0.1, 5.0


@server("python3", name="rolling")
def rolling(room, *, port, every_s="5"):
    return threads.command("rolling", port, every_s)


def serve(port, every_s):
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    door = socket.create_server(("", int(port)), backlog=128)
    door.setblocking(False)
    while True:
        worker = os.fork()
        if worker == 0:
            undo.die_with_parent()
            Worker(door).work()
        time.sleep(float(every_s))
        os.kill(worker, signal.SIGTERM)


class Worker:
    def __init__(self, door):
        self.door, self.draining = door, False

    def work(self):
        """Until SIGTERM, and then until the connections are closed."""
        signal.signal(signal.SIGTERM, self.drain)
        while not self.draining:
            if select.select([self.door], [], [], TURN_S)[0]:
                self.welcome()
        time.sleep(DRAIN_S)
        os._exit(0)

    def drain(self, *_):
        self.draining = True

    def welcome(self):
        try:
            client, _ = self.door.accept()
        except OSError:
            return  # the other worker was faster
        client.setblocking(True)
        threading.Thread(target=self.respond, args=(client,),
                         daemon=True).start()

    def respond(self, client):
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with client:
            try:
                while True:
                    _, resp = threads.read_request(client)
                    client.sendall(bytes(resp))
                    if self.draining:
                        return
            except (OSError, EOFError):
                return
