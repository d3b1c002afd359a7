# SPDX-License-Identifier: GPL-2.0-or-later
"""For the endurance tests: a network namespace, processes with what they start, memory, descriptors, BPF objects."""
import atexit
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time


def family(pid):
    """The process and all that it started, as long as they live."""
    yield pid
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as children:
                for child in children.read().split():
                    yield from family(int(child))
    except OSError:
        pass


def memory_kib(pid):
    """Anonymous memory of all its processes: pages of files come and go with the machine's memory."""
    total = 0
    for one in family(pid):
        try:
            with open(f"/proc/{one}/status", encoding="utf-8", errors="replace") as status:
                total += sum(int(line.split()[1]) for line in status if line.startswith("RssAnon:"))
        except OSError:
            pass
    return total


def descriptors(pid):
    total = 0
    for one in family(pid):
        try:
            total += len(os.listdir(f"/proc/{one}/fd"))
        except OSError:
            pass
    return total


def wait_for(what, condition, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        result = condition()
        if result:
            return result
        time.sleep(0.05)
    sys.exit(f"endurance: {what}: not within {seconds} s")


class Room:
    """A directory and a network namespace with loopback, removed at the end with every process started here."""

    def __init__(self):
        self.processes, self.mounts, self.instances = [], [], []
        self.directory = tempfile.TemporaryDirectory(prefix="nest-endure-")
        self.netns = f"nest-endure-{os.getpid()}"
        atexit.register(self.leave)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        subprocess.run(["ip", "netns", "add", self.netns], check=True)
        subprocess.run(["ip", "-n", self.netns, "link", "set", "lo", "up"], check=True)

    def path(self, name):
        return os.path.join(self.directory.name, name)

    def start(self, name, *command):
        with open(self.path(name + ".out"), "wb") as out, open(self.path(name + ".err"), "wb") as err:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        process.name = name
        self.processes.append(process)
        return process

    def start_inside(self, name, *command):
        return self.start(name, "ip", "netns", "exec", self.netns, *command)

    def text(self, name):
        with open(self.path(name), encoding="utf-8", errors="replace") as file:
            return file.read()

    def ready(self, process):
        wait_for(f"{process.name} ready", lambda: "nest: ready" in self.text(process.name + ".err")
                 or process.poll() is not None)
        if process.poll() is not None:
            sys.exit(f"endurance: {process.name} ended: {self.text(process.name + '.err')}")

    def end(self, process, how=signal.SIGINT):
        """Its exit status."""
        process.send_signal(how)
        return process.wait(60)

    def leave(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()
        subprocess.run(["ip", "netns", "del", self.netns], check=False)
        for instance in self.instances:
            os.rmdir(instance)
        for mount in self.mounts:
            subprocess.run(["umount", mount], check=False)
        self.directory.cleanup()


class Hidden:
    """
    Ends of connections that no BPF program sees: some kernels run none while pid 1 is the current task
    (docs/events.md, blind spots). The kernel's own tracer counts them.
    """

    def __init__(self, room, port):
        mounted = room.path("tracing")
        os.mkdir(mounted)
        room.mounts.append(mounted)
        subprocess.run(["mount", "-t", "tracefs", "nodev", mounted], check=True)
        self.instance = f"{mounted}/instances/nest-endure-{os.getpid()}"
        os.mkdir(self.instance)
        room.instances.append(self.instance)
        first = " || ".join(f"common_pid == {task}" for task in os.listdir("/proc/1/task"))
        event = f"{self.instance}/events/sock/inet_sock_set_state"
        for name, text in (("filter", f"newstate == 7 && oldstate != 10 && dport == {port} && ({first})"),
                           ("enable", "1")):
            with open(f"{event}/{name}", "w", encoding="ascii") as file:
                file.write(text)

    def count(self):
        with open(f"{self.instance}/trace", encoding="utf-8", errors="replace") as trace:
            return sum(": inet_sock_set_state: " in line for line in trace)


def bpf_objects():
    """Programs that the kernel holds and no process has open: what somebody left behind."""
    held = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            for fd in os.listdir(f"/proc/{pid}/fdinfo"):
                with open(f"/proc/{pid}/fdinfo/{fd}", encoding="utf-8", errors="replace") as info:
                    held.update(int(line.split()[1]) for line in info if line.startswith("prog_id:"))
        except OSError:
            pass
    listed = subprocess.run(["bpftool", "prog", "show", "-j"], check=True, capture_output=True).stdout
    return {program["id"]: program.get("name", "?") for program in json.loads(listed) if program["id"] not in held}


class Judge:
    def __init__(self):
        self.failed = 0

    def check(self, holds, what):
        print(f"{'ok    ' if holds else 'FAILED'} {what}", flush=True)
        self.failed += not holds

    def flat(self, what, values, slack):
        """The last quarter against the second: the first is warm-up."""
        quarter = max(1, len(values) // 4)
        early, late = statistics.median(values[quarter:2 * quarter] or values), statistics.median(values[-quarter:])
        self.check(late <= early * 1.1 + slack, f"{what}: {early:.0f} in the second quarter, {late:.0f} in the last, "
                                                f"{max(values):.0f} at most")
