#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 400
# runs beside others
# The commands that a verdict prints run as printed while the fault is on, and show the culprit.
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)
import harness


def body(tap, stack):
    done = subprocess.run([os.path.join(harness.ROOT, "lab", "next-steps")], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)
    lines = done.stdout.splitlines()
    for line in lines:
        tap.ok(line.endswith(": ok"), line)
    tap.ok(len(lines) >= 25, "every layer has next steps", f"{len(lines)} commands")
    tap.equal((done.returncode, done.stderr), (0, ""), "all of them show something")


harness.main(body)
