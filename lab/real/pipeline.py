# SPDX-License-Identifier: GPL-2.0-or-later
"""curl in a pipeline: the next program reads its output at its own pace."""

import os
import time

from real import meter as meters, metered, path_of

CHUNK = 1 << 16


@metered("curl", name="curl-pipe")
def curl_pipe(meter, room, *, url, rate="0"):
    """One download, repeatedly; `rate` of the reader in bytes/s, 0: all."""
    command = [path_of("curl"), "-q", "--silent", "--noproxy", "*", url]
    meter.ready()
    while True:
        with meters.start(command) as process:
            while data := os.read(process.stdout.fileno(), CHUNK):
                meter.moved(len(data))
                if float(rate):
                    time.sleep(len(data) / float(rate))
        meter.op()
        # No busy loop if the program fails at once.
        time.sleep(0.05)
