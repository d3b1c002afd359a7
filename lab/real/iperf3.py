# SPDX-License-Identifier: GPL-2.0-or-later
"""iperf3: both ends are metered by their 100 ms report lines."""

import re

from real import meter as meters, metered, path_of

COMMON = ["-i", "0.1", "-f", "k", "--forceflush"]
LINE = re.compile(rb"\]\s+([\d.]+)-([\d.]+)\s+sec\s.*\s([\d.]+) Kbits/sec")


def count(meter, process):
    for line in process.stdout:
        if b"Server listening" in line:
            meter.ready()
        found = LINE.search(line)
        if found:
            begin, end, kbit = map(float, found.groups())
            meter.moved(kbit * 1000 / 8 * (end - begin))


@metered("iperf3", name="iperf3-server")
def iperf3_server(meter, room, *, port):
    count(meter, meters.start([path_of("iperf3"), "-s", "-p", port, *COMMON]))


@metered("iperf3")
def iperf3(meter, room, *, host, port, rate="0", cc="cubic", udp="0"):
    """Upload until the lab ends; rate in bit/s, 0: unlimited."""
    kind = ["-u", "-l", "1200"] if int(udp) else ["-C", cc]
    process = meters.start([path_of("iperf3"), "-c", host, "-p", port, "-t",
                            "3600", "-b", rate, *kind, *COMMON])
    meter.ready()
    count(meter, process)
