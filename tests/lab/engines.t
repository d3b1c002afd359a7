#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 60
# A run that was recorded can be judged again by another engine, and the score is that engine's.
import json
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)
import harness

NEST = os.path.join(harness.BUILD, "nest")
ACCURACY = os.path.join(harness.ROOT, "lab", "accuracy")


def record(room):
    """A run directory with a recording of this host at rest, and a truth that says so."""
    path = os.path.join(room, "H00-1")
    os.mkdir(path)
    subprocess.run([NEST, "diagnose", "--json", "-d", "4", "--save", os.path.join(path, "look-1.nest")], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    truth = {"scenario": "H00", "title": "at rest", "kind": "healthy", "set": "known", "way": "early", "paper": None,
             "seed": 1, "choice": {}, "drawn": {}, "faults": [], "answers": [], "tolerate": [], "must_not_blame": [],
             "realtime_minus_monotonic_ns": time.time_ns() - time.monotonic_ns(), "note_is_enough": False,
             "looks": [{"name": "look-1", "begin_ns": 0, "end_ns": None, "exit": 0, "cpu_s": None}],
             "impact": {"metric": None, "bites": True, "reason": None, "before": None, "after": None, "windows": []}}
    with open(os.path.join(path, "truth.json"), "w") as file:
        json.dump(truth, file)
    return path


def score(room, *words):
    return subprocess.run([ACCURACY, "--score", room, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True)


def main():
    tap = harness.Tap()
    with tempfile.TemporaryDirectory() as room:
        path = record(room)
        for engine in ("nest2011", "flowdiagnoser", "rules"):
            done = score(room, "--engine", engine)
            tap.equal((done.returncode, done.stderr), (0, ""), f"{engine} judges the recording")
            with open(os.path.join(path, f"look-1-{engine}.jsonl")) as file:
                said = [json.loads(line)["said"] for line in file]
            tap.ok(len(said) >= 1 and all(window["schema"] == "nest.diagnosis/1" for window in said),
                   "a verdict for each window", len(said))
            with open(os.path.join(room, "accuracy.json")) as file:
                total = json.load(file)["ways"]["early"]["total"]
            tap.equal(total["healthy_windows"], len(said), "all of them are scored")
        os.unlink(os.path.join(path, "look-1.nest"))
        done = score(room, "--engine", "nest2011")
        tap.ok(done.returncode != 0 and "no recording" in done.stderr, "a run without a recording is refused",
               done.stderr.strip())
    tap.done()


main()
