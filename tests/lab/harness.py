# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of the laboratory's programs share: TAP, namespaces that cannot be left behind, supervised programs.

A namespace here has no name. It is held by a process that waits for the end of its stdin; when the test ends, however
it ends, the pipe closes, the holder goes and the kernel removes the namespace with everything in it.
"""

import contextlib
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("NEST_BUILD", os.path.join(ROOT, "build"))
RELAY = os.path.join(BUILD, "lab", "relay")
APP = os.path.join(BUILD, "lab", "app")
CLONE_NEWNET = 0x40000000

_libc = ctypes.CDLL(None, use_errno=True)


class Tap:
    def __init__(self):
        self.count = 0
        self.failed = 0

    def ok(self, condition, title, detail=""):
        self.count += 1
        if not condition:
            self.failed += 1
        print(f"{'ok' if condition else 'not ok'} {self.count} - {title}", flush=True)
        if detail != "":
            print(f"# {detail}", flush=True)
        return condition

    def between(self, value, low, high, title):
        known = value is not None
        return self.ok(known and low <= value <= high, title, f"{value} in {low} .. {high}")

    def equal(self, got, want, title):
        return self.ok(got == want, title, "" if got == want else f"got {got!r}, want {want!r}")

    def note(self, text):
        print(f"# {text}", flush=True)

    def done(self):
        print(f"1..{self.count}", flush=True)
        sys.exit(1 if self.failed else 0)


def main(body):
    """Runs body(tap, stack); whatever is on the stack is undone in every case."""
    tap = Tap()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if os.geteuid() != 0:
        print("1..0 # SKIP needs root for network namespaces")
        sys.exit(0)
    with contextlib.ExitStack() as stack:
        try:
            body(tap, stack)
        except Exception as error:  # a test that falls over says where, as a failed test
            import traceback

            traceback.print_exc()
            tap.ok(False, f"fell over: {error!r}")
    tap.equal(Program.complaints, [], "every program ended with status 0 and a silent stderr")
    tap.done()


class Namespace:
    def __init__(self, stack):
        self.holder = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo made; read _"], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, text=True)
        stack.callback(self.close)
        self.holder.stdout.readline()
        self.pid = self.holder.pid
        self.path = f"/proc/{self.pid}/ns/net"
        self.run("ip", "link", "set", "lo", "up")

    def close(self):
        self.holder.stdin.close()
        self.holder.stdout.close()
        self.holder.wait()

    def command(self, *words):
        return ["nsenter", f"--net={self.path}", *map(str, words)]

    def run(self, *words):
        return subprocess.run(self.command(*words), check=True, capture_output=True, text=True).stdout

    def sysctl(self, name, value):
        self.run("sh", "-c", f"echo {value} >/proc/sys/{name}")

    def counters(self, group):
        """One group of /proc/net/snmp, e.g. Udp."""
        lines = [line.split()
                 for line in self.run("cat", "/proc/net/snmp").splitlines() if line.startswith(group + ":")]
        return dict(zip(lines[0][1:], map(int, lines[1][1:])))

    def socket(self, *args):
        """A socket of this namespace; sockets keep the namespace they were made in."""
        with open("/proc/self/ns/net") as home, open(self.path) as there:
            _setns(there)
            try:
                return socket.socket(*args)
            finally:
                _setns(home)


def _setns(file):
    if _libc.setns(file.fileno(), CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


def cable(left, left_name, right, right_name):
    subprocess.run(["ip", "link", "add", left_name, "netns", str(left.pid), "type", "veth", "peer", "name", right_name,
                    "netns", str(right.pid)], check=True)
    left.run("ip", "link", "set", left_name, "up")
    right.run("ip", "link", "set", right_name, "up")


def offloads(namespace, interface, state):
    namespace.run("ethtool", "-K", interface, "tso", state, "gso", state, "gro", state)


class Program:
    """A program of the laboratory under test: its output is collected line by line while it runs."""

    complaints = []

    def __init__(self, stack, namespace, *words, stdin=subprocess.PIPE):
        self.process = subprocess.Popen(namespace.command(*words), stdin=stdin, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.lines = []
        self.changed = threading.Condition()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        stack.callback(self.stop)

    def _read(self):
        for line in self.process.stdout:
            with self.changed:
                self.lines.append(line.rstrip("\n"))
                self.changed.notify_all()
        with self.changed:
            self.lines.append(None)
            self.changed.notify_all()

    def wait_line(self, accept, start=0, seconds=10):
        """The first line from number start on that accept() likes, and its number."""
        end = time.monotonic() + seconds
        with self.changed:
            while True:
                for number in range(start, len(self.lines)):
                    line = self.lines[number]
                    if line is None:
                        raise RuntimeError(f"ended early: {self.process.args}: {self.errors()}")
                    if accept(line):
                        return line, number
                if not self.changed.wait(end - time.monotonic()):
                    raise RuntimeError(f"no such line in {seconds} s: {self.process.args}: {self.lines[-3:]}")

    def ready(self):
        self.wait_line(lambda line: line == "ready")
        return self

    def say(self, text):
        """Sends a line and returns the answer."""
        start = len(self.lines)
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()
        if text == "stats":
            return json.loads(self.wait_line(lambda line: line.startswith("{"), start)[0])
        return self.wait_line(lambda line: line == "ok" or line.startswith("error:"), start)[0]

    def progress(self):
        return [json.loads(line) for line in list(self.lines) if line and line.startswith("{")]

    def last(self):
        return self.progress()[-1]

    def wait_progress(self, accept, seconds=10):
        line, _ = self.wait_line(lambda text: text.startswith("{") and accept(json.loads(text)), 0, seconds)
        return json.loads(line)

    def wait_end(self, seconds=15):
        self.process.wait(seconds)
        self.reader.join(5)
        return self.last()

    def stop(self):
        """Ends it as a runner would and returns its last words."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.reader.join(5)
        if not self.process.stdout.closed:
            words = self.progress()
            errors = self.process.stderr.read()
            if self.process.returncode or errors:
                self.complaints.append((self.process.args[2:], self.process.returncode, errors[:2000]))
            self.process.stdout.close()
            self.process.stderr.close()
            if self.process.stdin:
                with contextlib.suppress(BrokenPipeError):
                    self.process.stdin.close()
            self.final = words[-1] if words else None
        return self.final

    def errors(self):
        return "" if self.process.stderr.closed else self.process.stderr.read()


def dies_with_parent(namespace, *words):
    """Starts the program under a shell, ends the shell the hard way, and tells whether the program went, too."""
    script = '"$@" >/dev/null & echo $!; wait'
    shell = subprocess.Popen(["sh", "-c", script, "sh", *namespace.command(*words)], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, text=True)
    pid = int(shell.stdout.readline())
    time.sleep(0.3)
    was_there = _is_running(pid)
    shell.kill()
    shell.wait()
    shell.stdout.close()
    for _ in range(100):
        if not _is_running(pid):
            return was_there
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    return False


def _is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def refused(namespace, program, *words):
    """Exit status and stderr of a command line that must not start."""
    result = subprocess.run(namespace.command(program, *words), stdin=subprocess.DEVNULL, capture_output=True,
                            text=True,
                            timeout=10)
    return result.returncode, result.stderr
