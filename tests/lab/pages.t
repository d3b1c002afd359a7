#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# The pages of causes name the scenarios that bring them about, and no others. No privilege needed.
import glob
import os
import re
import sys
import tomllib

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)
import harness

PAGES = os.path.join(harness.ROOT, "src", "diagnose", "rules", "pages.rules")


def named():
    """(cause, scenario) pairs of the pages."""
    pairs, cause = set(), None
    with open(PAGES) as file:
        for line in file:
            if line.startswith("page "):
                cause = line.split()[1]
            elif line.startswith("lab:"):
                pairs |= {(cause, word) for word in line.split()[1:]}
    return pairs


def answered():
    """(cause, scenario) pairs of the known scenarios: who writes a page must not have seen the others."""
    pairs = set()
    for path in glob.glob(os.path.join(harness.ROOT, "lab", "scenarios", "*.toml")):
        with open(path, "rb") as file:
            scenario = tomllib.load(file)
        if scenario.get("set", "known") != "known":
            continue
        for answer in scenario.get("answer", []):
            causes = answer["cause"]
            pairs |= {(cause, scenario["id"]) for cause in ([causes] if isinstance(causes, str) else causes)}
    return pairs


tap = harness.Tap()
pages, lab = named(), answered()
tap.ok(len(pages) > 40, "pages name scenarios", len(pages))
tap.ok(not pages - lab, "every one of them has that cause as an answer", sorted(pages - lab) or "")
missing = {pair for pair in lab - pages if not re.match("C[0-9]", pair[1])}
tap.ok(not missing, "no scenario is left out (add it to the page's lab line)", sorted(missing) or "")
tap.done()
