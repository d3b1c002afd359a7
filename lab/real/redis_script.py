# SPDX-License-Identifier: GPL-2.0-or-later
"""Scripts that keep redis busy: it runs one command at a time."""

import subprocess
import time

from real import meter as meters, metered, path_of

SPIN = ("local stop = os.clock() + ARGV[1] / 1000 "
        "while os.clock() < stop do end return 'done'")


@metered("redis-cli", name="redis-script")
def redis_script(meter, room, *, host, port, ms, pause_ms="500"):
    """A script of `ms` of CPU time, then a pause; a process per script."""
    command = [path_of("redis-script"), "-h", host, "-p", port, "EVAL", SPIN,
               "0", ms]
    meter.ready()
    while True:
        begin = time.monotonic()
        with meters.start(command, stderr=subprocess.DEVNULL) as process:
            said = process.stdout.read().strip()
        if said == b"done":
            meter.op(time.monotonic() - begin)
        else:
            meter.error()
        time.sleep(float(pause_ms) / 1000)
