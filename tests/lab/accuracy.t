#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 300
# runs beside others
# The whole way, with real faults: run, record, score, report; a program that knows the answer scores, others do not.
import concurrent.futures
import json
import os
import sqlite3
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
    done = subprocess.run([os.path.join(LAB, "accuracy"), "--only", only, "--out", out, "--jobs", "4", "--verdict",
                           f"{STUB} {mode} {{truth}} {{seconds}}"], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True)
    with open(os.path.join(out, "accuracy.json")) as file:
        return done, json.load(file)


def shares(result, way, *names):
    return tuple(result["ways"][way]["total"][name]["share"] for name in names)


def test_oracle(tap, out, done, result):
    tap.equal((done.returncode, done.stderr), (0, ""), "runs of two scenarios end well")
    tap.equal(list(result["ways"]), ["late", "past", "early"], "each is looked at in three ways")
    for way, figures in result["ways"].items():
        total = figures["total"]
        tap.equal((total["runs"], total["invalid"]), (2, 0), f"{way}: the fault bites, the healthy one is healthy")
        tap.equal(shares(result, way, "top_cause", "top_module", "tpr", "fpr"), (1.0, 1.0, 1.0, 0.0),
                  f"{way}: who knows is right")
    total = result["ways"]["early"]["total"]
    tap.ok(total["windows"] >= 4 and total["healthy_windows"] >= 6, "early: and was asked often enough",
           f"{total['windows']} windows with the fault, {total['healthy_windows']} without")
    tap.between(total["first_right_s"], 0.0, 2.5, "early: soon after the fault")
    for way in ("late", "past"):
        total = result["ways"][way]["total"]
        tap.equal((total["looks"], total["windows"], total["healthy_windows"]), (6, 3, 3), f"{way}: three looks each")
        tap.ok(total["cpu"]["programs"] == 6 and 0 < total["cpu"]["median"] <= total["cpu"]["p95"] < 1,
               f"{way}: their CPU time is measured", total["cpu"])
    files = set(os.listdir(os.path.join(out, "F62-1-late")))
    tap.ok({"truth.json", "look-1.jsonl", "look-3.jsonl", "app-client.jsonl", "app-server.jsonl"} <= files,
           "everything is on record", " ".join(sorted(files)))
    tap.equal([os.path.exists(os.path.join(out, f"F62-1-{way}", "past.nest")) for way in ("late", "past", "early")],
              [False, True, False], "a recorder runs only where a past is wanted")
    test_record(tap, out)
    tap.ok("peer-refused" in done.stdout and "top-1 cause" in done.stdout, "the report is printed")
    tap.ok(os.path.getsize(os.path.join(out, "accuracy.html")) > 5000, "the page is written")
    again = subprocess.run([os.path.join(LAB, "accuracy"), "--score", out], capture_output=True, text=True)
    with open(os.path.join(out, "accuracy.json")) as file:
        tap.equal((again.returncode, json.load(file)["ways"]), (0, result["ways"]),
                  "scoring the records again says the same of each way")


def test_record(tap, out):
    """The recording covers the time from before the fault to the last look."""
    path = os.path.join(out, "F62-1-past")
    with open(os.path.join(path, "truth.json")) as file:
        truth = json.load(file)
    offset = truth["realtime_minus_monotonic_ns"]
    with sqlite3.connect(os.path.join(path, "past.nest")) as recording:
        first, last = (moment * 10 ** 6 - offset for moment in
                       recording.execute("SELECT min(id), max(id) FROM sample").fetchone())
    tap.ok(first < truth["faults"][0]["begin_ns"] and last > truth["looks"][-1]["begin_ns"],
           "the recorder ran from before the fault to the last look")


def test_others(tap, wrong, mute):
    for way in ("late", "past", "early"):
        tap.equal(shares(wrong[1], way, "top_cause", "tpr", "fpr", "ppv"), (0.0, 0.0, 1.0, 0.0),
                  f"{way}: who is always wrong scores nothing, and every healthy window is a false alarm")
        total = mute[1]["ways"][way]["total"]
        tap.equal((shares(mute[1], way, "tpr", "ppv"), total["windows"] >= 3), ((0.0, None), True),
                  f"{way}: who says nothing misses everything")


def test_not_measured(tap, out):
    done = subprocess.run([os.path.join(LAB, "accuracy"), "--only", "H02", "--ways", "past", "--out", out, "--verdict",
                           "/bin/true {truth}"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    tap.ok(done.returncode == 0 and "late with a past: not measured: " in done.stdout,
           "who takes no past is not measured with one", done.stderr.strip())


def test_refusals(tap, room):
    def told(*words):
        done = subprocess.run([os.path.join(LAB, words[0]), *words[1:]], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)
        return done.returncode != 0 and done.stderr.count("\n") == 1 and done.stderr.strip()

    tap.ok(told("run", "nosuch"), "an unknown scenario is reported in one line", told("run", "nosuch"))
    tap.ok(told("run"), "so is none", told("run"))
    tap.ok(told("accuracy", "--only", "nosuch*"), "and a pattern that matches nothing",
           told("accuracy", "--only", "nosuch*"))
    done = subprocess.run([os.path.join(LAB, "accuracy"), "--ways", "late,never"], capture_output=True, text=True)
    tap.ok(done.returncode == 2 and "unknown way 'never'" in done.stderr, "and a way that is none", done.stderr.strip())
    words = ("accuracy", "--only", "F01", "--verdict", os.path.join(room, "absent"))
    tap.ok(told(*words), "and a diagnosis that is not there", told(*words))


def main():
    tap = harness.Tap()
    if os.geteuid() != 0:
        print("1..0 # SKIP needs root for network namespaces")
        return
    with tempfile.TemporaryDirectory() as room:
        test_refusals(tap, room)
        test_not_measured(tap, os.path.join(room, "none"))
        jobs = (("oracle", "F62,H02"), ("wrong", "F62,H02"), ("mute", "F62"))
        with concurrent.futures.ThreadPoolExecutor() as pool:
            oracle, wrong, mute = pool.map(lambda job: accuracy(os.path.join(room, job[0]), *job), jobs)
        test_oracle(tap, os.path.join(room, "oracle"), *oracle)
        test_others(tap, wrong, mute)
    tap.done()


main()
