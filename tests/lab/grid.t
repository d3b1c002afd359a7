#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Composed scenarios: every combination reads and fills in, samples are what was asked for. No privilege.
import collections
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
LAB = os.path.join(HERE, "..", "..", "lab")
sys.dont_write_bytecode = True
sys.path[:0] = [HERE, LAB]
import harness
import scenario


def write(directory, *options):
    subprocess.run([os.path.join(LAB, "grid"), "--out", directory, *options],
                   check=True)
    return sorted(os.listdir(directory))


def listed(*options):
    said = subprocess.run([os.path.join(LAB, "grid"), "--list", *options],
                          check=True, capture_output=True, text=True).stdout
    return [line.split() for line in said.splitlines()]


def fault_of(row):
    """The name without traffic and place."""
    found = re.match("(.*)-(up|down|rr|churn|query)-", row[1])
    return found and found.group(1)


tap = harness.Tap()
with tempfile.TemporaryDirectory() as directory:
    files = write(directory)
    rows = listed()
    tap.ok(len(files) == len(rows) >= 500, "a file for each combination")
    problems = []
    for name in files:
        try:
            one = scenario.load(os.path.join(directory, name))
            if one.id != name.split("-")[0] or one.data["set"] != "grid":
                problems.append(f"{name}: {one.id}, set {one.data['set']}")
        except scenario.ScenarioError as error:
            problems.append(str(error))
    tap.equal(problems[:3], [], "each of them reads")
    few = write(directory, "--each", "2", "--seed", "5")
    per = collections.Counter(map(fault_of, listed("--each", "2", "--seed",
                                                   "5")))
    tap.ok(set(per.values()) == {2} and len(few) == sum(per.values()),
           "two of each fault, and nothing of the sample before")
    tap.ok(set(per) == set(map(fault_of, rows)) and None not in per,
           "every fault is among them")
    tap.ok(write(directory, "--each", "2", "--seed", "5") == few,
           "the seed decides")
    said = subprocess.run([os.path.join(LAB, "run"), "--list"],
                          env={**os.environ, "NEST_SCENARIOS": directory},
                          check=True, capture_output=True, text=True).stdout
    tap.ok([line.split()[0] for line in said.splitlines()]
           == [name.split("-")[0] for name in few],
           "NEST_SCENARIOS makes lab/run read them")
tap.done()
