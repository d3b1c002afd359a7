#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 120
# Real programs in the laboratory: a scenario with them starts, bites and is torn down, also when the runner is killed.
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import types

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "lab")]
import harness
import real
import runner
import topology
import undo

RUN = os.path.join(HERE, "..", "..", "lab", "run")
NEEDED = ("nginx", "curl", "dnsmasq")
# A lab that somebody else runs on this machine may have to end first.
PATIENCE = 60


def left_of(prefix, pids, out):
    """What still exists of a run. Servers overwrite their environment, so their pids are looked at as well."""
    left = [f"netns {name}" for name in os.listdir("/run/netns") if name.startswith(prefix)]
    left += [f"process {pid}" for pid in {*undo.processes_of(prefix), *pids} if undo.start_time(pid)]
    return left + glob.glob(os.path.join(out, "room-*"))


def test_meter(tap):
    from real.meter import Meter

    meter = Meter()
    meter.moved(1000)
    meter.op(0.002)
    meter.op(0.004)
    meter.error()
    line = meter.line()
    tap.equal([line[key] for key in ("bytes", "ops", "errors")], [1000, 2, 1], "a meter counts")
    tap.ok(abs(line["lat_us"] - 3000) < 1 and abs(line["lat_max_us"] - 4000) < 1, "and knows how long it took")
    tap.equal([meter.line()[key] for key in ("bytes", "ops", "lat_us")], [1000, 2, None],
              "a line without an operation has no latency, and the sums stay")


def test_iperf3_line(tap):
    from real import iperf3
    from real.meter import Meter

    def total(text):
        meter = Meter()
        iperf3.count(meter, types.SimpleNamespace(stdout=[text]))
        return meter.line()["bytes"]

    tap.equal(total(b"[  5]   0.20-0.30   sec   391 KBytes  32000 Kbits/sec    0    124 KBytes\n"), 400000,
              "a line of iperf3 is bytes")
    tap.equal(total(b"[ ID] Interval           Transfer     Bitrate\n"), 0, "its heading is not")


def test_missing(tap):
    plan = types.SimpleNamespace(apps=[{"run": "real nginx port=1"}, {"run": "sink port=2"}])
    before, real.SEARCH = real.SEARCH, "/nonexistent"
    try:
        runner.Lab.check_programs(types.SimpleNamespace(plan=plan))
        said = "nothing"
    except topology.LabError as error:
        said = str(error)
    finally:
        real.SEARCH = before
    tap.ok("nginx" in said and "scripts/setup lab" in said, "a program that is not installed is named at once", said)


def test_run(tap, out):
    """nginx stopped under curl: variant and draw of seed 1 ask for new connections."""
    process = subprocess.Popen([RUN, "R01", "--seed", "1", "--quiet", "--out", out], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    said = process.communicate(timeout=PATIENCE + 30)[0]
    if not tap.equal(process.returncode, 0, "R01 runs"):
        tap.note(said.strip())
        return
    with open(os.path.join(out, "truth.json")) as file:
        truth = json.load(file)
    impact = truth["impact"]
    tap.ok(impact["bites"] and impact["before"] > 2 and impact["after"] < 0.5, "a stopped nginx answers nobody",
           f"{impact['before']:.1f} requests/s before, {impact['after']:.2f} after")
    tap.equal(truth["answers"][0]["modules"], ["8001", str(truth["pids"]["server"])],
              "the answer names nginx's own pid")
    tap.equal(left_of(f"nestlab-{process.pid}-", truth["pids"].values(), out), [], "nothing is left of it")
    with open(os.path.join(out, "app-client.jsonl")) as file:
        lines = [json.loads(line) for line in file if line.startswith("{")]
    gaps = [(b["t_ns"] - a["t_ns"]) / 1e6 for a, b in zip(lines, lines[1:])]
    tap.ok(len(lines) > 100 and 95 < sum(gaps) / len(gaps) < 110, "curl's progress is reported every 100 ms",
           f"{len(lines)} lines, {sum(gaps) / len(gaps):.1f} ms apart")
    tap.ok(lines[-1]["errors"] >= 3 and lines[-1]["bytes"] == 2000 * lines[-1]["ops"],
           "requests that got no answer are errors, the others carried the document",
           f"{lines[-1]['ops']} answers, {lines[-1]['errors']} errors")


def test_kill(tap, out):
    """The runner is killed while dnsmasq, nginx and curl run."""
    process = subprocess.Popen([RUN, "R07", "--quiet", "--out", out], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    path = os.path.join(out, "app-client.jsonl")

    def answered():
        if process.poll() is not None:
            raise topology.LabError(f"it ended: {process.stderr.read().strip()}")
        lines = (undo.read_text(path) or "").splitlines()
        return any('"ops": 3,' in line for line in lines)
    topology.wait_until(answered, PATIENCE, "curl found no web server by name")
    pids = [int(pid) for pid in undo.read_text(f"/proc/{process.pid}/task/{process.pid}/children").split()]
    names = {undo.read_text(f"/proc/{pid}/comm").strip() for pid in pids}
    tap.ok({"nginx", "dnsmasq"} <= names, "curl asks dnsmasq for the address of nginx", " ".join(sorted(names)))
    tap.equal(len(glob.glob(os.path.join(out, "room-*"))), 3, "each program has a room in the run's directory")
    tap.ok("nestlab /run tmpfs" not in undo.read_text("/proc/self/mounts"),
           "the resolver's address is known to curl alone")
    process.kill()
    process.wait()
    process.stderr.close()
    left, deadline = None, time.monotonic() + 8
    while left != [] and time.monotonic() < deadline:
        time.sleep(0.05)
        left = left_of(f"nestlab-{process.pid}-", pids, out)
    tap.equal(left, [], "killed with SIGKILL, it leaves nothing")


def main():
    tap = harness.Tap()
    if os.geteuid() != 0:
        print("1..0 # SKIP needs root for network namespaces")
        return
    missing = [kind for kind in NEEDED if not real.path_of(kind)]
    if missing:
        print(f"1..0 # SKIP not installed: {' '.join(missing)}; get them with scripts/setup lab")
        return
    os.makedirs("/run/netns", exist_ok=True)
    test_meter(tap)
    test_iperf3_line(tap)
    test_missing(tap)
    for test in (test_run, test_kill):
        out = tempfile.mkdtemp()
        try:
            test(tap, out)
        finally:
            shutil.rmtree(out)
    tap.done()


main()
