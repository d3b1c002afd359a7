# SPDX-License-Identifier: GPL-2.0-or-later
"""redis: the server without persistence, and redis-cli as its client."""

import subprocess
import time

from real import meter as meters, metered, path_of, server


@server("redis-server")
def redis_server(room, *, port, pubsub_limit=None, replicate=None):
    """pubsub_limit: disconnect subscribers this many bytes behind;
    replicate=HOST:PORT: be a replica of that server.
    """
    limit = ["--client-output-buffer-limit", f"pubsub {int(pubsub_limit)} 0 0"] \
        if pubsub_limit else []
    of = ["--replicaof", *replicate.split(":")] if replicate else []
    return [path_of("redis-server"), "--port", port, "--dir", room.path,
            "--bind", "0.0.0.0", "--protected-mode", "no", "--daemonize", "no",
            "--save", "", "--appendonly", "no", "--logfile", "", *limit,
            *of]


@metered("redis-cli")
def redis_cli(meter, room, *, host, port, size="500", interval_ms="5"):
    """SET and GET alternately on one connection, each timed until its reply."""
    process = meters.start([path_of("redis-cli"), "-h", host, "-p", port],
                           stdin=subprocess.PIPE)
    value = b"v" * int(size)
    turns = ((b"SET key " + value, b"OK"), (b"GET key", value))
    meter.ready()
    due = time.monotonic()
    while process.poll() is None:
        for request, wanted in turns:
            begin = time.monotonic()
            process.stdin.write(request + b"\n")
            process.stdin.flush()
            if process.stdout.readline().strip() == wanted:
                meter.moved(len(value))
                meter.op(time.monotonic() - begin)
            else:
                meter.error()
            due = max(due + float(interval_ms) / 1000, begin)
            time.sleep(max(0.0, due - time.monotonic()))
