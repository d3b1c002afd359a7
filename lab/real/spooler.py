# SPDX-License-Identifier: GPL-2.0-or-later
"""Half-closed connections: the end of the stream is the end of the request.

The client sends a request and closes its direction, as `rsh` or `nc -N` do;
the server has read the end of the stream and sends for seconds afterwards.
"""

import socket
import threading
import time

from real import metered, server, threads

STEP_S = 0.05
PATIENCE = 30.0


@server("python3", name="spooler")
def spooler(room, *, port, rate="50000", seconds="5"):
    return threads.command("spooler", port, rate, seconds)


def serve(port, rate, seconds):
    part = bytes(max(1, int(float(rate) * STEP_S)))

    def handle(client):
        while client.recv(4096):
            pass
        end = time.monotonic() + float(seconds)
        while time.monotonic() < end:
            client.sendall(part)
            time.sleep(STEP_S)
    threads.serve_each(port, handle)


@metered("python3", name="half-close")
def half_close(meter, room, *, host, port, conns="1"):
    """Request, end of the own direction, then read to the end; again."""
    crew = [threading.Thread(target=ask, args=(meter, host, int(port)))
            for _ in range(int(conns))]
    meter.ready()
    for one in crew:
        one.start()
    for one in crew:
        one.join()


def ask(meter, host, port):
    while True:
        begin = time.monotonic()
        try:
            with socket.create_connection((host, port), PATIENCE) as peer:
                peer.sendall(b"print\n")
                peer.shutdown(socket.SHUT_WR)
                while data := peer.recv(1 << 16):
                    meter.moved(len(data))
            meter.op(time.monotonic() - begin)
        except OSError:
            meter.error()
            time.sleep(0.2)
