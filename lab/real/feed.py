# SPDX-License-Identifier: GPL-2.0-or-later
"""A receiver of a multicast group, such as market data or television."""

import socket
import time

from real import metered


@metered("python3", name="feed")
def feed(meter, room, *, group, address, port, work_ms="0", rcvbuf="100000"):
    """Joins on the interface with `address`; an operation is one datagram."""
    door = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    door.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, int(rcvbuf))
    door.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                    socket.inet_aton(group) + socket.inet_aton(address))
    door.bind(("", int(port)))
    meter.ready()
    while True:
        meter.moved(len(door.recv(1 << 16)))
        meter.op()
        if float(work_ms):
            time.sleep(float(work_ms) / 1000)
