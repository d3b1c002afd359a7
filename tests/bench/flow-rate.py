#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""All CPUs at the full rate of calls, default buffers: is every call in the trace, or counted as lost?

    tests/bench/flow-rate.py [BUILD-DIRECTORY [SECONDS]]

The trace has about 4 GB after 10 s on two CPUs; fails when calls are missing and not counted as lost.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "../../build"))
SECONDS = int(sys.argv[2]) if len(sys.argv) > 2 else 10
NEST = os.path.join(BUILD, "nest")
CALLS = 33  # per request
EXTRA = 3  # per run: main, and the clock twice


def record(program, trace, requests, copies):
    """Runs that many copies at once; returns the seconds."""
    script = f'for i in $(seq {copies}); do "$0" {requests} & done; wait'
    start = time.monotonic()
    subprocess.run([NEST, "flow", "record", "-o", trace, "--", "sh", "-c", script, program],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - start


def main():
    copies = os.cpu_count()
    with tempfile.TemporaryDirectory() as room:
        program, trace = os.path.join(room, "hooks"), os.path.join(room, "out.trace")
        subprocess.run(["gcc", "-O2", "-w", "-finstrument-functions", os.path.join(HERE, "flow-workload.c"),
                        "-o", program], check=True)
        # A short run calibrates the number of requests.
        probe = 500000
        requests = int(probe * SECONDS / record(program, trace, probe, copies))
        os.unlink(trace)
        took = record(program, trace, requests, copies)
        answer = subprocess.run([NEST, "flow", "info", trace, "--check", "-j"], stdout=subprocess.PIPE,
                                text=True).stdout
        found = json.loads(answer)
        size = os.path.getsize(trace)
    made = copies * (requests * CALLS + EXTRA)
    missing = 2 * made - found["calls"] - found["returns"] - found["lost"]
    print(f"{'flow record at full rate':34} {copies} CPUs, {took:.1f} s, "
          f"{2 * made / took / 1e6:.0f} million events/s, "
          f"{size / took / 1e6:.0f} MB/s, {2 * made} events, {found['lost']} lost, {missing} unaccounted, "
          f"well-formed: {'yes' if found['well_formed'] else 'no'}")
    return 0 if missing == 0 and found["well_formed"] else 1


if __name__ == "__main__":
    sys.exit(main())
