# SPDX-License-Identifier: GPL-2.0-or-later
"""CPU time that programs share: shares of a cgroup, a quota of several."""

import os

from faults import fault
from faults.process import write

PERIOD_US = 100000


def join(lab, path, apps):
    for app in apps:
        write(os.path.join(path, "cgroup.procs"), lab.process(app).pid)


@fault
def cpu_shares(lab, *, app, shares):
    """Put the program into a cgroup with few CPU shares (1024: the default)."""
    path = lab.network.cgroup("cpu", "shares")
    if os.path.exists(os.path.join(path, "cpu.shares")):
        write(os.path.join(path, "cpu.shares"), int(shares))
    else:
        write(os.path.join(path, "cpu.weight"),
              max(1, round(int(shares) * 100 / 1024)))
    join(lab, path, [app])


@fault
def shared_quota(lab, *, apps, percent):
    """One cgroup quota, in percent of one CPU, for several programs."""
    path = lab.network.cgroup("cpu", "pod")
    quota = int(PERIOD_US * float(percent) / 100)
    if os.path.exists(os.path.join(path, "cpu.cfs_quota_us")):
        write(os.path.join(path, "cpu.cfs_period_us"), PERIOD_US)
        write(os.path.join(path, "cpu.cfs_quota_us"), quota)
    else:
        write(os.path.join(path, "cpu.max"), f"{quota} {PERIOD_US}")
    join(lab, path, apps)
