#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A stub for `nest diagnose --json` to test the scoring.

    verdict_stub.py MODE TRUTH SECONDS [--past FILE]

    verdict_stub.py nothing TRUTH SECONDS    reports nothing
    verdict_stub.py oracle  TRUTH SECONDS    reports the answer from the truth file
    verdict_stub.py wrong   TRUTH SECONDS    always reports a wrong cause
    verdict_stub.py random  TRUTH SECONDS    reports a random cause
    verdict_stub.py mute    TRUTH SECONDS    prints nothing

Only `oracle` and `wrong` open the truth file. A past must exist; nobody reads it.
"""

import argparse
import json
import os
import random
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from vocabulary import CAUSES, LAYER_OF                  # noqa: E402

MODES = ("nothing", "oracle", "wrong", "random", "mute")
WINDOW_S = 1.0


def read_truth(path):
    with open(path) as file:
        return json.load(file)


def finding(cause, module, certainty=0.9):
    return {"cause": cause, "layer": LAYER_OF[cause], "module": module,
            "certainty": certainty, "severity": "high", "affects": [],
            "for": [], "against": [], "because": "a stub said so",
            "advice": "", "next": []}


def oracle(path):
    truth = read_truth(path)
    if not truth["faults"]:
        return []
    return [finding(answer["causes"][0], "stub:" + answer["modules"][0])
            for answer in truth["answers"]]


def wrong(path):
    truth = read_truth(path)
    right = {cause for answer in truth["answers"]
             for cause in answer["causes"]} | set(truth["tolerate"])
    cause = next(cause for cause in CAUSES
                 if cause not in right and LAYER_OF[cause] not in right)
    return [finding(cause, "stub:innocent")]


def dice(generator):
    if generator.random() < 0.5:
        return []
    return [finding(generator.choice(CAUSES), "stub:random",
                    generator.random())]


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=MODES)
    parser.add_argument("truth")
    parser.add_argument("seconds", type=float)
    parser.add_argument("--past", metavar="FILE", help="'none', or a file")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    if arguments.past not in (None, "none") and \
            not os.path.exists(arguments.past):
        sys.exit(f"no such file: {arguments.past}")
    mode, path, seconds = arguments.mode, arguments.truth, arguments.seconds
    generator = random.Random(path)
    choices = {"nothing": lambda: [], "oracle": lambda: oracle(path),
               "wrong": lambda: wrong(path), "random": lambda: dice(generator)}
    end = time.monotonic() + seconds
    print("nest: ready", file=sys.stderr, flush=True)
    while time.monotonic() + WINDOW_S <= end + 0.1:
        start = time.time_ns()
        time.sleep(WINDOW_S)
        if mode == "mute":
            continue
        findings = choices[mode]()
        print(json.dumps({
            "schema": "nest.diagnosis/1", "host": "stub", "netns": 0,
            "start_ns": start, "window_ms": int(WINDOW_S * 1000),
            "modules": [], "findings": findings, "healthy": not findings,
            "lost": 0}), flush=True)


if __name__ == "__main__":
    main()
