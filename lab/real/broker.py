# SPDX-License-Identifier: GPL-2.0-or-later
"""A message queue without memory: what producers send goes to one consumer.

One thread per producer, all of which write to the connection of the consumer:
when the consumer does not read, nobody reads from the producers.
"""

import socket
import threading

from real import server, threads

CHUNK = 1 << 14


@server("python3", name="broker")
def broker(room, *, port, consumer):
    return threads.command("broker", port, consumer)


def serve(port, consumer):
    host, _, its_port = consumer.rpartition(":")
    output = socket.create_connection((host, int(its_port)))
    lock = threading.Lock()

    def handle(producer):
        while data := producer.recv(CHUNK):
            with lock:
                output.sendall(data)
    threads.serve_each(port, handle)
