# SPDX-License-Identifier: GPL-2.0-or-later
"""A RADIUS-like server with one worker: every request asks a directory first.

Serves the datagrams of the role query; the directory is a web server. While it
waits for the directory, requests stay in the receive queue.
"""

import http.client
import socket
import struct

from real import server, threads

HEADER = struct.Struct(">II")
PATIENCE = 30.0


@server("python3", name="gatekeeper")
def gatekeeper(room, *, port, directory, rcvbuf="0"):
    return threads.command("gatekeeper", port, directory, rcvbuf)


def serve(port, directory, rcvbuf):
    upstream = http.client.HTTPConnection(directory, timeout=PATIENCE)
    door = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    if int(rcvbuf):
        door.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, int(rcvbuf))
    door.bind(("", int(port)))
    while True:
        request, peer = door.recvfrom(1 << 16)
        number, resp = HEADER.unpack(request[:HEADER.size])
        try:
            upstream.request("GET", "/")
            upstream.getresponse().read()
        except (OSError, http.client.HTTPException):
            upstream.close()
            continue
        reply = HEADER.pack(number, resp) + bytes(max(0, resp - HEADER.size))
        door.sendto(reply, peer)
