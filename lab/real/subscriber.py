# SPDX-License-Identifier: GPL-2.0-or-later
"""A subscriber of redis that works on each message before it reads the next."""

import socket
import time

from real import metered
from real.redis_jobs import Redis


@metered("python3", name="redis-reader")
def redis_reader(meter, room, *, host, port, work_ms="0", rcvbuf="60000"):
    """An operation is one message, an error the end of a connection."""
    meter.ready()
    while True:
        redis = Redis(host, port)
        redis.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF,
                                int(rcvbuf))
        redis.ask("SUBSCRIBE", "news")
        try:
            listen(meter, redis, float(work_ms) / 1000)
        except (SystemExit, OSError):
            meter.error()
            time.sleep(0.2)


def listen(meter, redis, work_s):
    while True:
        meter.moved(len(redis.reply()[2]))
        meter.op()
        if work_s:
            time.sleep(work_s)
