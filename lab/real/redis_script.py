# SPDX-License-Identifier: GPL-2.0-or-later
"""Scripts that keep redis busy: it runs one command at a time."""

import subprocess
import time

from real import meter as meters, metered, path_of

# redis gives scripts no clock: the length is a number of turns.
SPIN = ("local sum = 0 for turn = 1, ARGV[1] * 1000000 do sum = sum + turn end "
        "return 'done'")


@metered("redis-cli", name="redis-script")
def redis_script(meter, room, *, host, port, millions, pause_ms="500"):
    """A loop of so many million turns, then a pause; a process per script."""
    command = [path_of("redis-script"), "-h", host, "-p", port, "EVAL", SPIN,
               "0", millions]
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
