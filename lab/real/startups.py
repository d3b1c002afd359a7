# SPDX-License-Identifier: GPL-2.0-or-later
"""A login server with a limit of clients that have not logged in yet.

As MaxStartups of sshd: a client counts until its first request. What exceeds
the limit is accepted and closed at once, with its request unread.
"""

import threading

from real import server, threads


@server("python3", name="startups")
def startups(room, *, port, limit="10"):
    """Serves rr and churn."""
    return threads.command("startups", port, limit)


def serve(port, limit):
    places = threading.Semaphore(int(limit))

    def handle(client):
        if not places.acquire(blocking=False):
            return
        try:
            _, resp = threads.read_request(client)
        finally:
            places.release()
        while True:
            client.sendall(bytes(resp))
            _, resp = threads.read_request(client)
    threads.serve_each(port, handle)
