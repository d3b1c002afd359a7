#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Did the fault bite, and when? Judged from progress lines alone; no privilege needed.
import os
import sys
import types

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "lab")]
import harness
import impact
import runner

FAULT_AT, END = 10.0, 18.0
BYTES = {"metric": "bytes", "app": ["x"], "below": 0.5}


def progress(rate_at, begin=5.0, end=END, **fields):
    """Lines each 100 ms of an application that moves rate_at(t) bytes a second."""
    samples, total, ticks = [], 0.0, round((end - begin) * 10)
    for tick in range(ticks + 1):
        now = begin + tick / 10
        samples.append({"t_ns": int(now * 1e9), "bytes": int(total), "ops": int(total), "errors": 0, "lat_us": None,
                        **{key: value(now) for key, value in fields.items()}})
        total += rate_at(now) / 10
    return impact.Progress(samples)


def labels(result):
    return " ".join(window["label"] for window in result["windows"])


def test_rates(tap):
    stall = impact.judge(BYTES, [progress(lambda t: 1000 if t < FAULT_AT else 0)], FAULT_AT, END)
    tap.equal((stall["bites"], round(stall["before"]), stall["after"]), (True, 1000, 0.0), "a stall bites")
    tap.equal(labels(stall), " ".join(["impact"] * 8), "from the first second to the last")
    steady = impact.judge(BYTES, [progress(lambda t: 1000)], FAULT_AT, END)
    tap.equal((steady["bites"], "0 of 8" in steady["reason"]), (False, True), "a flow that goes on was not bitten")
    mild = impact.judge(BYTES, [progress(lambda t: 1000 if t < FAULT_AT else 600)], FAULT_AT, END)
    tap.equal(mild["bites"], False, "a loss of less than asked is none")
    late = impact.judge(BYTES, [progress(lambda t: 1000 if t < FAULT_AT + 5 else 0)], FAULT_AT, END)
    tap.equal((late["bites"], "no affected window within" in late["reason"]), (False, True),
              "a stall long after the fault is another's")
    dead = impact.judge(BYTES, [progress(lambda t: 0)], FAULT_AT, END)
    tap.equal((dead["bites"], dead["reason"]), (False, "no progress before the fault"), "who never moved cannot suffer")
    silent = impact.judge(BYTES, [progress(lambda t: 1000, end=FAULT_AT)], FAULT_AT, END)
    tap.equal((silent["bites"], silent["after"]), (True, 0.0), "a stopped program prints nothing, and that is a stall")
    missing = impact.judge(BYTES, [impact.Progress.read("/nonexistent")], FAULT_AT, END)
    tap.equal(missing["bites"], False, "no lines at all prove nothing")
    swapped = impact.judge(BYTES, [progress(lambda t: 1000, end=FAULT_AT),
                                   progress(lambda t: 100, begin=FAULT_AT)], FAULT_AT, END)
    tap.equal((swapped["bites"], 90 < swapped["after"] < 110), (True, True),
              "a program and its successor are one victim")


def test_standing(tap):
    spec = {**BYTES, "normal": 1000.0}
    always = impact.judge(spec, [progress(lambda t: 100)], FAULT_AT, END)
    tap.equal((always["bites"], always["before"]), (True, 1000.0), "a fault without a before is compared with normal")
    tap.equal(impact.judge(spec, [progress(lambda t: 900)], FAULT_AT, END)["bites"], False, "near normal is no impact")
    tap.equal(impact.judge(spec, [progress(lambda t: 0)], FAULT_AT, END)["bites"], True,
              "who never moved suffers if normal says that he should")
    beats = progress(lambda t: 1000 if t < FAULT_AT or (t - FAULT_AT) % 2 >= 1 else 0)
    wide = impact.judge({**BYTES, "below": 0.8, "window": 4.0}, [beats], FAULT_AT, END)
    tap.equal(labels(wide), "impact impact", "wide windows hold an intermittent fault together")


def test_recovery(tap):
    back = impact.judge(BYTES, [progress(lambda t: 0 if 10 <= t < 13 else 1000)], FAULT_AT, END)
    tap.equal(labels(back), "impact impact impact recovery recovery recovery recovery recovery",
              "when it moves again, it recovers")
    gap = impact.judge(BYTES, [progress(lambda t: 0 if 10 <= t < 12 or 13 <= t < 15 else 1000)], FAULT_AT, END)
    tap.equal(labels(gap), "impact impact impact impact impact recovery recovery recovery",
              "one good second between bad ones is no recovery")
    ended = impact.judge(BYTES, [progress(lambda t: 0 if t >= 10 else 1000)], FAULT_AT, END, ended_at=14.0)
    tap.equal(labels(ended), "impact impact impact impact recovery recovery recovery recovery",
              "a flow that waits for its timer after the fault is recovering")


def test_others(tap):
    spec = {"metric": "lat", "app": ["x"], "above": 3.0}
    slow = progress(lambda t: 10, lat_us=lambda t: 100 if t < FAULT_AT else 900)
    tap.equal(impact.judge(spec, [slow], FAULT_AT, END)["bites"], True, "nine times the latency is more than three")
    rare = progress(lambda t: 10, lat_us=lambda t: (100 if t < FAULT_AT else 900) if int(t) % 2 == 0 else None)
    tap.equal(labels(impact.judge(spec, [rare], FAULT_AT, END)).count("impact"), 8,
              "a second without an operation is like the one before it")
    errors = {"metric": "errors", "app": ["x"], "at_least": 2}
    resets = progress(lambda t: 10, errors=lambda t: max(0, int((t - FAULT_AT) * 5)))
    tap.equal((impact.judge(errors, [resets], FAULT_AT, END)["bites"],
               impact.judge(errors, [progress(lambda t: 10)], FAULT_AT, END)["bites"]), (True, False), "errors count")
    counter = {"metric": "counter", "counter": "X.y", "on": "A", "at_least": 10}
    tap.equal([impact.judge_counter(counter, {"X.y": 5}, {"X.y": 5 + grown}, FAULT_AT, END)["bites"]
               for grown in (9, 10)], [False, True], "so do counters")
    moves = impact.judge_progress({"a": progress(lambda t: 5), "b": progress(lambda t: 0)}, 6.0, END)
    tap.equal((moves["bites"], moves["reason"]), (False, "no progress: b"), "a healthy run needs everybody to move")


def test_disturbed(tap):
    def lab(waits, alone=False, tolerate=()):
        plan = types.SimpleNamespace(scenario=types.SimpleNamespace(alone=alone, tolerate=tolerate))
        return runner.Lab.disturbed(types.SimpleNamespace(plan=plan, waits=waits))

    late = [(0.0, {"a": 0.0}), (4.0, {"a": 0.4}), (14.0, {"a": 9.0})]
    tap.ok("waited 64 % of the time" in (lab(late) or ""), "a busy machine is reported")
    tap.equal(lab(late, alone=True), None, "after a fault of the CPU that is what was wanted")
    tap.equal(lab(late, tolerate=("cpu-starved",)), None, "and not where the scenario saturates the machine itself")
    tap.equal(lab([(0.0, {"a": 0.0}), (10.0, {"a": 1.0})]), None, "a tenth of the time is nothing")


def main():
    tap = harness.Tap()
    for test in (test_rates, test_standing, test_recovery, test_others, test_disturbed):
        test(tap)
    tap.done()


main()
