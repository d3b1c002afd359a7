# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that watch hosts: an agent that leaks, a checker, a capture."""

import socket
import struct
import time

from real import metered
from real.noise import every

ETH_P_ALL = 3
AT_ONCE = struct.pack("ii", 1, 0)


@metered("python3", name="udp-leak")
def udp_leak(meter, room, *, host, port, rate="50"):
    """One datagram per socket, and no socket is ever closed.

    An operation is one datagram, an error a socket that got no port.
    """
    kept = []
    meter.ready()
    for _ in every(rate):
        out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            out.connect((host, int(port)))
            out.send(b"requests:1|c")
        except OSError:
            out.close()
            meter.error()
            continue
        kept.append(out)
        meter.op()


@metered("python3", name="reset-check")
def reset_check(meter, room, *, host, port, rate="10"):
    """Connects and ends each connection with a reset, as balancers do."""
    meter.ready()
    for _ in every(rate):
        begin = time.monotonic()
        try:
            with socket.create_connection((host, int(port)), 2) as check:
                check.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
            meter.op(time.monotonic() - begin)
        except OSError:
            meter.error()


@metered("python3", name="capture")
def capture(meter, room, *, dev, rcvbuf="30000", pause_ms="20"):
    """Reads copies of all frames of an interface, with a pause after each.

    What does not fit into its buffer is lost for the capture alone.
    """
    tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                        socket.htons(ETH_P_ALL))
    tap.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, int(rcvbuf))
    tap.bind((dev, 0))
    meter.ready()
    while frame := tap.recv(1 << 16):
        meter.moved(len(frame))
        meter.op()
        time.sleep(float(pause_ms) / 1000)
