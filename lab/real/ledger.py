# SPDX-License-Identifier: GPL-2.0-or-later
"""A database with one lock: a thread per connection, one query at a time.

Speaks the protocol of rr and churn. A request of at least `report` bytes is a
report, which keeps the lock for `report_ms`; the others need it for a moment.
"""

import threading
import time

from real import server, threads


@server("python3", name="ledger")
def ledger(room, *, port, report="5000", report_ms="2000"):
    return threads.command("ledger", port, report, report_ms)


def serve(port, report, report_ms):
    lock = threading.Lock()

    def handle(client):
        while True:
            size, resp = threads.read_request(client)
            with lock:
                if size >= int(report):
                    time.sleep(float(report_ms) / 1000)
            client.sendall(bytes(resp))
    threads.serve_each(port, handle)
