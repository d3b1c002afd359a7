# SPDX-License-Identifier: GPL-2.0-or-later
"""Process faults: stopped, frozen, throttled, replaced."""

import os
import resource
import signal
import sys

from faults import fault

PTRACE_ATTACH = 16


def write(path, value):
    with open(path, "w") as file:
        file.write(str(value))


@fault
def stop_process(lab, *, app):
    """SIGSTOP: the program keeps its sockets open but does not run."""
    process = lab.process(app)
    process.send_signal(signal.SIGSTOP)
    return lambda: process.send_signal(signal.SIGCONT)


@fault
def kill_process(lab, *, app):
    """Kill the program; its listening port closes. Undone by a restart."""
    lab.end_app(app)
    return lambda: lab.start_app(app)


@fault
def start_app(lab, *, app):
    """Start an application marked later = true."""
    lab.start_app(app)
    return lambda: lab.end_app(app)


@fault
def swap_app(lab, *, old, new):
    """Replace programs by others with another configuration, in order."""
    for name in old:
        lab.end_app(name)
    for name in new:
        lab.start_app(name)


@fault
def cpu_quota(lab, *, app, percent):
    """Limit the program to a few percent of one CPU by a cgroup quota."""
    path = lab.network.cgroup("cpu", "cpu")
    period = 100000
    quota = max(1000, int(period * float(percent) / 100))
    if os.path.exists(os.path.join(path, "cpu.cfs_quota_us")):
        write(os.path.join(path, "cpu.cfs_period_us"), period)
        write(os.path.join(path, "cpu.cfs_quota_us"), quota)
    else:
        write(os.path.join(path, "cpu.max"), f"{quota} {period}")
    write(os.path.join(path, "cgroup.procs"), lab.process(app).pid)


@fault
def freeze(lab, *, app):
    """Freeze by the cgroup freezer: like SIGSTOP, but without state T."""
    path = lab.network.cgroup("unified", "freeze")
    write(os.path.join(path, "cgroup.procs"), lab.process(app).pid)
    write(os.path.join(path, "cgroup.freeze"), 1)
    return lambda: write(os.path.join(path, "cgroup.freeze"), 0)


@fault
def app_set(lab, *, app, set, back=None):
    """Change an option of a traffic program at run time."""
    lab.app_command(app, set)
    return (lambda: lab.app_command(app, back)) if back else None


@fault
def descriptor_limit(lab, *, app, spare):
    """Set RLIMIT_NOFILE just above the number of open descriptors."""
    pid = lab.process(app).pid
    highest = max(int(name) for name in os.listdir(f"/proc/{pid}/fd"))
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    limit = highest + 1 + int(spare)
    # The hard limit stays: it could not be raised again.
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit, before[1]))
    return lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE, before)


@fault
def renice(lab, *, app, nice):
    """Set nice 19; with autogroup scheduling, that of the session."""
    pid = lab.process(app).pid
    os.setpriority(os.PRIO_PROCESS, pid, int(nice))
    if os.path.exists(f"/proc/{pid}/autogroup"):
        write(f"/proc/{pid}/autogroup", int(nice))


@fault
def debugger(lab, *, app):
    """Attach to the program as a debugger does: it stops, in state t."""
    code = ("import ctypes, os, signal, sys; pid = int(sys.argv[1]); "
            "libc = ctypes.CDLL(None, use_errno=True); "
            f"libc.ptrace({PTRACE_ATTACH}, pid, None, None) == 0 "
            "or sys.exit('cannot attach'); "
            "os.waitpid(pid, 0); signal.pause()")
    lab.network.spawn(lab.apps[app]["on"], [sys.executable, "-c", code,
                                            str(lab.process(app).pid)])


@fault
def process_limit(lab, *, app, count):
    """Limit the processes of the program by a cgroup (pids.max)."""
    path = lab.network.cgroup("pids", "pids")
    write(os.path.join(path, "pids.max"), int(count))
    write(os.path.join(path, "cgroup.procs"), lab.process(app).pid)


@fault
def tcp_memory_limit(lab, *, app, kb):
    """Limit the memory of the program's new TCP sockets by a cgroup (v1)."""
    path = lab.network.cgroup("memory", "memory")
    write(os.path.join(path, "memory.kmem.tcp.limit_in_bytes"),
          int(kb) * 1024)
    write(os.path.join(path, "cgroup.procs"), lab.process(app).pid)
