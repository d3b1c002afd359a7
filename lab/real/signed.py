# SPDX-License-Identifier: GPL-2.0-or-later
"""A server that wants signed segments (TCP MD5, RFC 2385), as BGP peers do.

The kernel drops segments of that client without the right signature, and
says nothing about it.
"""

import socket
import struct

from real import server, threads

TCP_MD5SIG = 14
# struct tcp_md5sig: sockaddr_storage, flags, prefix, length of the key, ifindex, key
TCP_MD5 = struct.Struct("@128sBBHi80s")


@server("python3", name="signed")
def signed(room, *, port, client, key):
    """Serves rr and churn; `client` has to sign with `key`."""
    return threads.command("signed", port, client, key)


def serve(port, client, key):
    door = socket.create_server(("", int(port)), backlog=16)
    address = (struct.pack("@H", socket.AF_INET) + bytes(2)
               + socket.inet_aton(client))
    door.setsockopt(socket.IPPROTO_TCP, TCP_MD5SIG,
                    TCP_MD5.pack(address, 0, 0, len(key), 0, key.encode()))
    threads.serve_clients(door, answer)


def answer(client):
    while True:
        _, resp = threads.read_request(client)
        client.sendall(bytes(resp))
