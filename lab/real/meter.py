# SPDX-License-Identifier: GPL-2.0-or-later
"""Progress of a real program in the format of the lab's own programs.

The same line every 100 ms: bytes, operations, latency since the last line,
errors. Values that a program does not report are null.
"""

import json
import subprocess
import threading
import time

import undo

INTERVAL = 0.1


class Meter:
    def __init__(self):
        self.bytes = self.ops = self.errors = 0
        self.latencies = []
        self.lock = threading.Lock()

    def ready(self):
        print("ready", flush=True)
        threading.Thread(target=self._print_lines, daemon=True).start()

    def moved(self, count):
        with self.lock:
            self.bytes += count

    def op(self, seconds=None):
        """Count a completed operation, with its latency if known."""
        with self.lock:
            self.ops += 1
            if seconds is not None:
                self.latencies.append(seconds)

    def error(self):
        with self.lock:
            self.errors += 1

    def line(self):
        with self.lock:
            taken, self.latencies = self.latencies, []
            known = bool(taken)
            return {"t_ns": time.monotonic_ns(), "bytes": round(self.bytes),
                    "ops": self.ops,
                    "lat_us": sum(taken) / len(taken) * 1e6 if known else None,
                    "lat_max_us": max(taken) * 1e6 if known else None,
                    "errors": self.errors, "errno": None, "conns": None}

    def _print_lines(self):
        due = time.monotonic()
        while True:
            print(json.dumps(self.line()), flush=True)
            due += INTERVAL
            time.sleep(max(0.0, due - time.monotonic()))


def start(command, **options):
    """The metered program: it dies with the meter."""
    return subprocess.Popen(command, preexec_fn=undo.die_with_parent,
                            stdout=subprocess.PIPE, **options)
