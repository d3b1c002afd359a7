#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 300
# The whole way, with real faults: run, record, score, report; a program that knows the answer scores, others do not.
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)
import harness

LAB = os.path.join(HERE, "..", "..", "lab")
STUB = os.path.join(LAB, "verdict_stub.py")


def accuracy(out, mode, only):
    done = subprocess.run([os.path.join(LAB, "accuracy"), "--only", only, "--out", out, "--verdict",
                           f"{STUB} {mode} {{truth}} {{seconds}}"], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True)
    with open(os.path.join(out, "accuracy.json")) as file:
        return done, json.load(file)


def shares(result, *names):
    return tuple(result["total"][name]["share"] for name in names)


def test_oracle(tap, out, done, result):
    tap.equal((done.returncode, done.stderr), (0, ""), "a run of two scenarios ends well")
    total = result["total"]
    tap.equal((total["runs"], total["invalid"]), (2, 0), "the fault bites, the healthy one is healthy")
    tap.equal(shares(result, "top_cause", "top_module", "tpr", "fpr"), (1.0, 1.0, 1.0, 0.0), "who knows is right")
    tap.ok(total["windows"] >= 4 and total["healthy_windows"] >= 6, "and was asked often enough",
           f"{total['windows']} windows with the fault, {total['healthy_windows']} without")
    tap.between(total["first_right_s"], 0.0, 2.5, "soon after the fault")
    files = sorted(os.listdir(os.path.join(out, "F62-1")))
    tap.ok({"truth.json", "verdict.jsonl", "app-client.jsonl", "app-server.jsonl"} <= set(files),
           "everything is on record", " ".join(files))
    tap.ok("peer-refused" in done.stdout and "top-1 cause" in done.stdout, "the report is printed")
    tap.ok(os.path.getsize(os.path.join(out, "accuracy.html")) > 5000, "the page is written")
    again = subprocess.run([os.path.join(LAB, "accuracy"), "--score", out], capture_output=True, text=True)
    with open(os.path.join(out, "accuracy.json")) as file:
        tap.equal((again.returncode, json.load(file)["total"]), (0, total), "scoring the records again says the same")


def test_others(tap, wrong, mute):
    result = wrong[1]
    tap.equal(shares(result, "top_cause", "tpr", "fpr", "ppv"), (0.0, 0.0, 1.0, 0.0),
              "who is always wrong scores nothing, and every healthy window is a false alarm")
    result = mute[1]
    tap.equal((shares(result, "tpr", "ppv"), result["total"]["windows"] >= 4), ((0.0, None), True),
              "who says nothing misses everything")


def test_refusals(tap, room):
    def told(*words):
        done = subprocess.run([os.path.join(LAB, words[0]), *words[1:]], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)
        return done.returncode != 0 and done.stderr.count("\n") == 1 and done.stderr.strip()

    tap.ok(told("run", "Z99"), "an unknown scenario is told in one line", told("run", "Z99"))
    tap.ok(told("run"), "so is none", told("run"))
    tap.ok(told("accuracy", "--only", "Z*"), "and a pattern that matches nothing", told("accuracy", "--only", "Z*"))
    words = ("accuracy", "--only", "F01", "--verdict", os.path.join(room, "absent"))
    tap.ok(told(*words), "and a diagnosis that is not there", told(*words))


def main():
    tap = harness.Tap()
    if os.geteuid() != 0:
        print("1..0 # SKIP needs root for network namespaces")
        return
    with tempfile.TemporaryDirectory() as room:
        test_refusals(tap, room)
        jobs = (("oracle", "F62,H02"), ("wrong", "F62,H02"), ("mute", "F62"))
        with concurrent.futures.ThreadPoolExecutor() as pool:
            oracle, wrong, mute = pool.map(lambda job: accuracy(os.path.join(room, job[0]), *job), jobs)
        test_oracle(tap, os.path.join(room, "oracle"), *oracle)
        test_others(tap, wrong, mute)
    tap.done()


main()
