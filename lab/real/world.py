# SPDX-License-Identifier: GPL-2.0-or-later
"""A game server with one thread: while it saves the world, nobody is served.

Serves the datagrams of the role query.
"""

import select
import socket
import time

from real import server, threads


@server("python3", name="world")
def world(room, *, port, save_ms="0", every_ms="4000"):
    """Saves for `save_ms` at the end of every `every_ms`."""
    return threads.command("world", port, save_ms, every_ms)


def serve(port, save_ms, every_ms):
    door = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    door.bind(("", int(port)))
    while True:
        play(door, time.monotonic() + (float(every_ms) - float(save_ms)) / 1000)
        time.sleep(float(save_ms) / 1000)


def play(door, end):
    """Responses until the next save is due."""
    while (left := end - time.monotonic()) > 0:
        if not select.select([door], [], [], left)[0]:
            return
        request, peer = door.recvfrom(1 << 16)
        number, resp = threads.HEADER.unpack_from(request)
        head = threads.HEADER.pack(number, resp)
        door.sendto(head + bytes(max(0, resp - len(head))), peer)
