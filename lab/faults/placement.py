# SPDX-License-Identifier: GPL-2.0-or-later
"""Where programs may run."""

import os

from faults import fault


@fault
def pin(lab, *, apps, cpu):
    """Let all threads of some programs run on one CPU alone."""
    for app in apps:
        for thread in os.listdir(f"/proc/{lab.process(app).pid}/task"):
            os.sched_setaffinity(int(thread), {int(cpu)})
