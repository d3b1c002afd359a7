#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 300
# However and whenever a run is ended, no namespace, process, cgroup or setting of it stays behind.
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "lab")]
import harness
import topology
import undo

RUN = os.path.join(HERE, "..", "..", "lab", "run")
SCENARIO = os.path.join(HERE, "interrupt.toml")
SYSCTL = "/proc/sys/net/core/netdev_max_backlog"
# A lab that somebody else runs on this machine may have to end first.
PATIENCE = 60
CGROUPS = ("/sys/fs/cgroup/*", "/sys/fs/cgroup")


def left_of(prefix):
    """What still exists of a lab, as a list of words."""
    left = [f"netns {name}" for name in os.listdir("/run/netns") if name.startswith(prefix)]
    left += [f"process {pid}" for pid in undo.processes_of(prefix) if undo.start_time(pid)]
    for base in CGROUPS:
        left += [f"cgroup {path}" for path in glob.glob(os.path.join(base, prefix + "*"))]
    return left


def wait_gone(prefix, before, seconds=8):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        left = left_of(prefix)
        now = undo.read_text(SYSCTL)
        if not left and now == before:
            return []
        time.sleep(0.05)
    return left + ([] if now == before else [f"{SYSCTL} is {now.strip()}"])


def moment_fault(process, out):
    """Right after the last fault, which sets the global setting."""
    topology.wait_until(lambda: (undo.read_text(SYSCTL) or "").strip() == "987" or process.poll() is not None, PATIENCE,
                        "the fault never came")


def moment_namespaces(process, out):
    prefix = f"nestlab-{process.pid}-"
    topology.wait_until(lambda: any(name.startswith(prefix) for name in os.listdir("/run/netns"))
                        or process.poll() is not None, PATIENCE, "no namespace came")


def moment_apps(process, out):
    topology.wait_until(lambda: glob.glob(os.path.join(out, "app-*")) or process.poll() is not None, PATIENCE,
                        "no application came")


# The moment, and whether the run changes the whole machine, for which it has to wait until it is alone.
MOMENTS = {"while the namespaces are made": (moment_namespaces, False),
           "while the applications start": (moment_apps, False), "with the fault on": (moment_fault, True)}
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)


def shared_scenario(room):
    """The same without the change of the whole machine."""
    with open(SCENARIO) as file:
        text = file.read()
    shared = re.sub(r'\[\[fault\]\]\ndo = "global-sysctl"\n(.+\n)+', "", text.replace("exclusive = true\n", ""))
    path = os.path.join(room, "shared.toml")
    with open(path, "w") as file:
        file.write(shared)
    return path


def interrupt(tap, number, name, path):
    before = undo.read_text(SYSCTL)
    out = tempfile.mkdtemp()
    moment = MOMENTS[name][0]
    try:
        # Whoever runs the tests in the background of a script has SIGINT ignored, and so would what they start.
        process = subprocess.Popen([RUN, path, "--out", out], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                   preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        moment(process, out)
        prefix = f"nestlab-{process.pid}-"
        there = left_of(prefix)
        tap.ok(process.poll() is None and there, f"{number.name} {name}: the run is under way",
               f"{len(there)} things to remove")
        process.send_signal(number)
        process.wait(15)
        tap.equal(wait_gone(prefix, before), [], f"{number.name} {name}: nothing is left")
        said = process.stderr.read()
        process.stderr.close()
        tap.ok(said == "", f"{number.name} {name}: it ended without a complaint", said.strip().replace("\n", " / "))
    finally:
        shutil.rmtree(out)


def test_any_moment(tap, path):
    """SIGKILL at moments that nobody chose, while everything is being made."""
    before, left, out = undo.read_text(SYSCTL), [], tempfile.mkdtemp()
    try:
        for step in range(12):
            process = subprocess.Popen([RUN, path, "--out", out], stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(0.1 + 0.045 * step)
            process.kill()
            process.wait()
            left += wait_gone(f"nestlab-{process.pid}-", before)
    finally:
        shutil.rmtree(out)
    tap.equal(left, [], "SIGKILL after 0.1 to 0.6 s, twelve times: nothing is left")


def test_children_of_accuracy(tap):
    """Killing the driver ends the runs that it started."""
    out = tempfile.mkdtemp()
    driver = os.path.join(os.path.dirname(RUN), "accuracy")
    try:
        process = subprocess.Popen([driver, "--only", "H01,H02", "--verdict", "none", "--out", out],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        children = []

        def both_run():
            text = undo.read_text(f"/proc/{process.pid}/task/{process.pid}/children") or ""
            children[:] = text.split()
            names = os.listdir("/run/netns")
            return len(children) == 2 and all(f"nestlab-{child}-d" in names for child in children)
        topology.wait_until(both_run, PATIENCE, "the driver did not start two runs")
        process.kill()
        process.wait()
        before = undo.read_text(SYSCTL)
        left = [word for child in children for word in wait_gone(f"nestlab-{child}-", before)]
        tap.equal(left, [], "killing the driver with SIGKILL ends both of its runs and leaves nothing")
    finally:
        shutil.rmtree(out)


def main():
    tap = harness.Tap()
    if os.geteuid() != 0:
        print("1..0 # SKIP needs root for network namespaces")
        return
    os.makedirs("/run/netns", exist_ok=True)
    with tempfile.TemporaryDirectory() as room:
        shared = shared_scenario(room)
        for name, (_, alone) in MOMENTS.items():
            for number in SIGNALS:
                interrupt(tap, number, name, SCENARIO if alone else shared)
        test_any_moment(tap, shared)
    test_children_of_accuracy(tap)
    tap.done()


main()
