# SPDX-License-Identifier: GPL-2.0-or-later
"""A resolver that asks several name servers at once and takes the first reply.

The others meet a closed port.
"""

import selectors
import socket
import struct
import time

from real import metered
from real.noise import every

PATIENCE = 2.0
RECURSION, TYPE_A, CLASS_IN = 0x0100, 1, 1


def query_of(number, name):
    labels = b"".join(bytes([len(part)]) + part.encode()
                      for part in name.split("."))
    return (struct.pack("!HHHHHH", number, RECURSION, 1, 0, 0, 0) + labels
            + struct.pack("!BHH", 0, TYPE_A, CLASS_IN))


@metered("python3", name="dns-race")
def dns_race(meter, room, *, servers, name="server.lab.test", rate="10"):
    """One lookup after the other; `servers` with commas are asked together."""
    meter.ready()
    number = 0
    for _ in every(rate):
        number = (number + 1) % 65536
        begin = time.monotonic()
        with selectors.DefaultSelector() as waiting:
            for address in servers.split(","):
                out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                out.connect((address, 53))
                out.send(query_of(number, name))
                waiting.register(out, selectors.EVENT_READ)
            replied = waiting.select(PATIENCE)
            for key in list(waiting.get_map().values()):
                key.fileobj.close()
        if replied:
            meter.op(time.monotonic() - begin)
        else:
            meter.error()
