# SPDX-License-Identifier: GPL-2.0-or-later
"""A client whose connections all have the same source port.

Firewalls of partners sometimes demand that. While the last connection is in
TIME_WAIT, the next one to the same server gets no address.
"""

import socket
import time

from real import metered, threads
from real.noise import every

PATIENCE = 5.0


@metered("python3", name="one-port")
def one_port(meter, room, *, host, port, source, rate="10", resp="1000",
             wait="0"):
    """A connection per request of rr; an error is a failed one.

    wait=1: lets the server close first, which then has the TIME_WAIT.
    """
    meter.ready()
    for _ in every(rate):
        begin = time.monotonic()
        try:
            with socket.socket() as out:
                out.settimeout(PATIENCE)
                out.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                out.bind(("", int(source)))
                out.connect((host, int(port)))
                size = threads.HEADER.size
                out.sendall(threads.HEADER.pack(size, int(resp)))
                threads.receive(out, int(resp))
                if int(wait):
                    out.recv(1)
            meter.moved(int(resp))
            meter.op(time.monotonic() - begin)
        except (OSError, EOFError):
            meter.error()
