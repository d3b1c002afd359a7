# SPDX-License-Identifier: GPL-2.0-or-later
"""Journal of all changes a lab makes outside itself, and their undo.

Each change is logged *before* it is made, both in this process and
through a pipe to a watchdog. If the lab's process disappears in any way, even
by SIGKILL, the pipe closes and the watchdog undoes what the journal lists.
The lab's normal exit runs the same code.
"""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time

PR_SET_NAME = 15
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)


def die_with_parent():
    """For preexec_fn: the child dies with its parent."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def read_text(path):
    try:
        with open(path, "rb") as file:
            return file.read().decode("utf-8", "replace")
    except OSError:
        return None


def start_time(pid):
    """Start time from /proc/PID/stat: detects a reused pid."""
    stat = read_text(f"/proc/{pid}/stat")
    if stat is None:
        return None
    fields = stat[stat.rindex(")") + 2:].split()
    return None if fields[0] in "ZX" else fields[19]


def processes_of(tag):
    """All live processes with the lab's tag in their environment."""
    mark = f"NESTLAB={tag}".encode()
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            with open(f"/proc/{entry}/environ", "rb") as file:
                if mark in file.read().split(b"\0"):
                    found.append(int(entry))
        except OSError:
            continue
    return found


class Journal:
    """Changes to undo; also the wire format of the watchdog's pipe."""

    def __init__(self):
        self.tag = None
        self.netns = []
        self.pids = {}
        self.cgroups = []
        self.dirs = []
        self.sysctls = []

    def apply(self, line):
        kind, _, rest = line.partition(" ")
        if kind == "tag":
            self.tag = rest
        elif kind == "netns":
            self.netns.append(rest)
        elif kind == "pid":
            pid, _, started = rest.partition(" ")
            self.pids[int(pid)] = started
        elif kind == "gone":
            self.pids.pop(int(rest), None)
        elif kind == "cgroup":
            self.cgroups.append(rest)
        elif kind == "dir":
            self.dirs.append(rest)
        elif kind == "sysctl":
            path, _, value = rest.partition(" ")
            self.sysctls.append((path, value))

    def undo(self):
        """Undo everything; returns the list of failures."""
        problems = []
        for path, value in reversed(self.sysctls):
            problems += restore_sysctl(path, value)
        for path in self.cgroups:
            thaw(path)
        problems += self._end_processes()
        for name in self.netns:
            problems += delete_netns(name)
        for path in reversed(self.cgroups):
            problems += delete_cgroup(path)
        for path in self.dirs:
            shutil.rmtree(path, ignore_errors=True)
            problems += [f"cannot remove {path}"] * os.path.exists(path)
        self.__init__()
        return problems

    def _living(self):
        living = {pid for pid, started in self.pids.items()
                  if start_time(pid) == started}
        if self.tag:
            living.update(pid for pid in processes_of(self.tag)
                          if start_time(pid) is not None)
        living.discard(os.getpid())
        return living

    def _end_processes(self):
        deadline = time.monotonic() + 5
        while True:
            living = self._living()
            if not living:
                return []
            if time.monotonic() > deadline:
                return [f"process {pid} does not exit" for pid in living]
            for pid in living:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            reap(living)
            time.sleep(0.01)


def reap(pids):
    """Reap ended children among pids."""
    for pid in pids:
        try:
            os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            continue


def restore_sysctl(path, value):
    try:
        with open(path, "w") as file:
            file.write(value)
    except OSError as error:
        return [f"cannot restore {path}: {error.strerror}"]
    now = (read_text(path) or "").split()
    if now != value.split():
        return [f"{path} is {' '.join(now)}, not {value} as before"]
    return []


def delete_netns(name):
    if not os.path.exists(f"/run/netns/{name}"):
        return []
    done = subprocess.run(["ip", "netns", "delete", name],
                          capture_output=True, text=True)
    if done.returncode != 0 and os.path.exists(f"/run/netns/{name}"):
        return [f"cannot remove namespace {name}: {done.stderr.strip()}"]
    return []


def thaw(path):
    """Thaw: a frozen process does not die (cgroup v1)."""
    for name, value in (("freezer.state", "THAWED"), ("cgroup.freeze", "0")):
        try:
            with open(os.path.join(path, name), "w") as file:
                file.write(value)
        except OSError:
            continue


def delete_cgroup(path):
    for _ in range(100):
        try:
            os.rmdir(path)
            return []
        except FileNotFoundError:
            return []
        except OSError as error:
            reason = error.strerror
            time.sleep(0.02)
    return [f"cannot remove cgroup {path}: {reason}"]


def watch(read_fd):
    """The watchdog: reads the journal, undoes it at EOF."""
    LIBC.prctl(PR_SET_NAME, b"nestlab-watch", 0, 0, 0)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP,
                   signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    journal, finished = Journal(), False
    with os.fdopen(read_fd, "r") as pipe:
        for line in pipe:
            if line == "done\n":
                finished = True
            elif line.endswith("\n"):
                journal.apply(line.rstrip("\n"))
    if not finished:
        journal.undo()


def start_watchdog(read_fd, keep_fds):
    """Fork into a new session: signals to the lab do not reach it."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child:
        return child
    try:
        os.setsid()
        keep = {read_fd, *keep_fds}
        null = os.open("/dev/null", os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        for fd in map(int, os.listdir("/proc/self/fd")):
            if fd > 2 and fd not in keep:
                try:
                    os.close(fd)
                except OSError:
                    continue
        os.environ.pop("NESTLAB", None)
        watch(read_fd)
    finally:
        os._exit(0)


class Undoer:
    """The lab's side: log a change, then make it; `finish()` undoes all."""

    def __init__(self, tag, keep_fds=()):
        read_fd, self.pipe = os.pipe()
        self.watchdog = start_watchdog(read_fd, keep_fds)
        os.close(read_fd)
        self.journal = Journal()
        self.note("tag", tag)

    def note(self, kind, *words):
        line = " ".join([kind, *map(str, words)])
        os.write(self.pipe, line.encode() + b"\n")
        self.journal.apply(line)

    def finish(self):
        """Returns the list of failures; ends the watchdog."""
        if self.pipe is None:
            return []
        problems = self.journal.undo()
        os.write(self.pipe, b"done\n")
        os.close(self.pipe)
        self.pipe = None
        os.waitpid(self.watchdog, 0)
        return problems
