#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 120
# A standing fault is there before the applications, a pulse comes and goes, and the diagnosis runs where it should.
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import harness

RUN = os.path.join(HERE, "..", "..", "lab", "run")
SCENARIO = os.path.join(HERE, "standing.toml")
# Its addresses tell where the diagnosis runs, the process table that one application is stopped.
VERDICT = "sh -c 'ip -j -4 addr; ps -eo stat=,args= >{out}/processes'"


def read(out, name):
    with open(os.path.join(out, name)) as file:
        return file.read()


def lines_of(out, app):
    return [json.loads(line) for line in read(out, f"app-{app}.jsonl").splitlines() if line.startswith("{")]


def test_run(tap, out):
    done = subprocess.run([RUN, SCENARIO, "--out", out, "--quiet", "--verdict", VERDICT], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=110)
    if not tap.equal(done.returncode, 0, "the run is valid"):
        tap.note((done.stdout + done.stderr).strip())
        return
    truth = json.loads(read(out, "truth.json"))
    tap.ok(truth["faults"][0]["begin_ns"] < truth["begin_ns"], "the fault is older than the traffic")
    tap.equal((truth["impact"]["before"], truth["impact"]["after"]), (20, 0.0), "normal stands in for the past")
    tap.equal({window["label"] for window in truth["impact"]["windows"]}, {"impact"}, "all of the run is impact")
    tap.equal((truth["set"], truth["nest_on"]), ("known", "R"), "the record tells the set and the place")
    tap.ok("10.77.3.1" in read(out, "look-1.jsonl"), "the diagnosis runs on the router")
    arrived = [later["ops"] - earlier["ops"] for earlier, later in
               zip(lines_of(out, "sink"), lines_of(out, "sink")[1:])]
    tap.ok(arrived.count(0) >= 3 and sum(n > 3 for n in arrived) >= 3, "a pulse comes and goes", str(arrived))
    stopped = [line for line in read(out, "processes").splitlines() if line.startswith("T") and "port=5003" in line]
    tap.ok(len(stopped) >= 1, "stop = true stops a program that is ready")


def main():
    tap = harness.Tap()
    if os.geteuid() != 0:
        print("1..0 # SKIP needs root for network namespaces")
        return
    with tempfile.TemporaryDirectory() as out:
        test_run(tap, out)
    tap.done()


main()
