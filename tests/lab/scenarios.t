#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Every scenario file reads, fills in and names only what exists; a wrong file is refused with its line. No privilege.
import collections
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "lab")]
import faults
import harness
import scenario
from vocabulary import CAUSES, LAYER_OF

LISTED = ("F01 F02 F03 F05 F06 F07 F08 F09 F11 F12 F13 F15 F17 F18 F19 F20 F22 F23 F24 F25 F26 F27 F28 F30 F31 F32 F34 "
          "F36 F37 F39 F40 F41 F42 F44 F45 F47 F48 F49 F50 F53 F54 F55 F57 F59 F61 F62 F63 F65 F66 C1 C2 "
          "H01 H02 H03 H04 H05 H06 H08 H09 H10 H11 H12 H14 H15 H16 H17 H19 P0 P1 P2 P3").split()

GOOD = """id = "X1"
title = "a test"
kind = "fault"
topology = "router"
why = "because"

[draw]
rate = { from = 1, to = 2 }

[[app]]
name = "one"
on = "A"
run = "bulk dst={B} port=1 rate={rate}"

[[fault]]
do = "stop-process"
app = "one"

[[answer]]
cause = "app-not-sending"
module = ["{pid[one]}"]

[[impact]]
app = ["one"]
metric = "bytes"
below = 0.5
"""

# (what is replaced, by what, the line, a part of the message)
WRONG = [
    ('topology = "router"', 'topology = "ring"', 4, "'ring' is not one of"),
    ('title = "a test"', 'titel = "a test"', 2, "unknown key 'titel'"),
    ('title = "a test"', "title = 7", 2, "should be a str"),
    ('why = "because"\n', "", 1, "lacks 'why'"),
    ('on = "A"', 'on = "Q"', 12, "'Q' is not one of"),
    ("{rate}", "{speed}", 1, "'speed'"),
    ('do = "stop-process"', 'do = "set-fire"', 15, "unknown fault 'set-fire'"),
    ('app = "one"\n\n[[answer', 'app = "one"\nhard = 1\n\n[[answer', 15, "stop-process has no hard"),
    ('app = "one"\n\n[[answer', "\n[[answer", 15, "stop-process needs app"),
    ("app-not-sending", "app-is-lazy", 19, "not a cause of the vocabulary"),
    ('metric = "bytes"', 'metric = "smiles"', 25, "'smiles' is not one of"),
    ("below = 0.5", "above = 0.5", 23, "impact by bytes takes"),
    ("below = 0.5", "below = 0.5\nnormal = 7.0", 23, "only a standing fault is compared with normal"),
    ('why = "because"', 'why = "because"\nstanding = true', 24, "a standing fault needs normal"),
    ('why = "because"', 'why = "because"\nnest_on = "K"', 6, "'K' is not one of"),
    ('why = "because"', 'why = "because"\ncontainers = 9', 6, "containers is 0 to 2"),
    ('do = "stop-process"\napp = "one"', 'do = "pulse"\nbroken_s = 1\nwhole_s = 1\nstep = { do = "wait" }', 15,
     "unknown fault 'wait'"),
    ('app = ["one"]', 'app = ["two"]', 23, "no app 'two'"),
    ("bulk dst", "real emacs dst", 13, "unknown program 'emacs'"),
    ("bulk dst={B} port=1 rate", "real nginx port=1 rate", 13, "nginx has no rate"),
    ("bulk dst={B} port=1 rate={rate}", "real nginx", 13, "nginx needs port"),
    ("from = 1,", "from = ", 8, "Invalid"),
    ("to = 2 }", "to = 2, shape = 3 }", 8, "draw.rate"),
    ('why = "because"', 'why = "because"\nbackground = ["jazz"]', 6, "'jazz' is not one of"),
    ('why = "because"', 'why = "because"\nmust_not_blame = ["weather"]', 6, "'weather' is not one of"),
]


def message_of(room, text):
    path = os.path.join(room, "x.toml")
    with open(path, "w") as file:
        file.write(text)
    try:
        scenario.load(path)
    except scenario.ScenarioError as error:
        return str(error)
    return None


def test_wrong_files(tap, room):
    tap.equal(message_of(room, GOOD), None, "the pattern of all wrong files is a good one")
    for old, new, line, part in WRONG:
        if GOOD.count(old) == 0:
            tap.ok(False, f"{old!r} is in the pattern")
            continue
        message = message_of(room, GOOD.replace(old, new, 1)) or "(accepted)"
        tap.ok(f"x.toml:{line}: " in message and part in message, f"refused with its line: {new.strip()!r}",
               message if f"x.toml:{line}: " not in message or part not in message else "")


def roles():
    text = subprocess.run([harness.APP, "--help"], capture_output=True, text=True).stdout
    return {line.split()[0] for line in text.splitlines() if line.startswith("  ") and line.split()}


def main():
    tap = harness.Tap()
    everything = scenario.load_all()
    tap.ok(len(everything) >= len(LISTED), f"{len(everything)} scenario files read")
    tap.equal(sorted(set(LISTED) - {one.id for one in everything}), [], "every listed scenario is there")
    known = roles()
    tap.ok(len(known) >= 17, "the traffic programs tell their roles")
    known.add("real")  # whose kinds and options are checked when a file is read
    for one in everything:
        plans = [scenario.Plan(one, seed) for seed in range(len(scenario.combinations(one)))]
        strange = {app["run"].split()[0] for plan in plans for app in plan.apps} - known
        causes = {cause for plan in plans for answer in plan.answers_with({a["name"]: 1 for a in plan.apps}, {}, "x")
                  for cause in answer["causes"]}
        tap.ok(not strange and causes <= set(CAUSES), f"{one.id}: known programs, known causes",
               " ".join(sorted(strange | (causes - set(CAUSES)))))
    faulty = [one for one in everything if one.kind == "fault"]
    tap.equal([one.id for one in faulty if not one.background], [], "healthy flows run beside every fault")
    tap.equal([one.id for one in faulty if not one.must_not_blame], [], "every fault has innocents")
    tap.equal([one.id for one in everything for answer in one.answer for cause in
               (answer["cause"], *answer.get("accept", [])) if {cause, LAYER_OF[cause]} & set(one.must_not_blame)], [],
              "nobody is right and innocent at once")
    sets = collections.Counter(("healthy" if one.kind == "healthy" else "fault", one.set) for one in everything)
    least = {("fault", "unseen-2026-11"): 40, ("healthy", "unseen-2026-11"): 25, ("fault", "unseen-2026-11-2"): 30,
             ("healthy", "unseen-2026-11-2"): 24, ("fault", "training-2026-11"): 20,
             ("healthy", "training-2026-11"): 10, ("fault", "training-2026-11-2"): 18,
             ("healthy", "training-2026-11-2"): 6, ("healthy", "training-2026-11-3"): 15,
             ("fault", "training-2026-11-3"): 20, ("fault", "unseen-2026-11-4"): 26,
             ("healthy", "unseen-2026-11-4"): 14, ("fault", "unseen-2026-11-7"): 33,
             ("healthy", "unseen-2026-11-7"): 14, ("fault", "unseen-2026-11-8"): 35,
             ("healthy", "unseen-2026-11-8"): 15, ("fault", "unseen-2026-11-10"): 30,
             ("healthy", "unseen-2026-11-10"): 14, ("fault", "unseen-2026-11-11"): 36,
             ("healthy", "unseen-2026-11-11"): 18, ("fault", "unseen-2026-11-12"): 32,
             ("healthy", "unseen-2026-11-12"): 22, ("fault", "unseen-2026-11-13"): 22,
             ("healthy", "unseen-2026-11-13"): 16, ("fault", "unseen-2026-11-14"): 30,
             ("healthy", "unseen-2026-11-14"): 20}
    tap.equal([key for key, count in least.items() if sets[key] < count], [], f"the sets are whole: {dict(sets)}")
    tap.equal([one.id for one in everything if not one.exclusive and any(
        step["do"] == "global-sysctl" for step in one.fault + one.setup)], [],
        "who changes the whole machine is exclusive")
    again = [scenario.Plan(everything[0], 5).words == scenario.Plan(everything[0], 5).words,
             scenario.Plan(everything[3], 5).drawn != scenario.Plan(everything[3], 6).drawn or
             not everything[3].draw]
    tap.equal(again, [True, True], "a seed decides everything, another one decides otherwise")
    tap.ok(all(function.__doc__ for function in faults.REGISTRY.values()), "every fault primitive says what it does")
    with tempfile.TemporaryDirectory() as room:
        test_wrong_files(tap, room)
    tap.done()


main()
