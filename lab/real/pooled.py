# SPDX-License-Identifier: GPL-2.0-or-later
"""A service with a pool of database connections, and a bug that leaks them.

Serves rr and churn. A request of at least `leak` bytes takes a connection from
the pool and never puts it back. With an empty pool every request waits.
"""

import queue

from real import server, threads
from real.cached import Store


@server("python3", name="pooled")
def pooled(room, *, port, database, size="8", leak="5000"):
    return threads.command("pooled", port, database, size, leak)


def serve(port, database, size, leak):
    pool = queue.Queue()
    for _ in range(int(size)):
        pool.put(Store(database))

    def handle(client):
        while True:
            length, resp = threads.read_request(client)
            store = pool.get()
            client.sendall(store.ask(resp))
            if length < int(leak):
                pool.put(store)
    threads.serve_each(port, handle)
