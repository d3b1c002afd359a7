#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Looks at journeys as `nest path --json` wrote them.

path-check.py FILE sums                       "good" when the stages of every journey add up, in order of time
path-check.py FILE share STAGE SECONDS WHICH [DELAYS]
                                              of the journeys for which the Python expression WHICH holds (fields are
                                              names, j is the journey, n its number from 0), how many of a hundred
                                              spent that time, give or take a fifth, at the stage; "none" when there
                                              are fewer than 20.
                                              DELAYS: a file in which path-load.py says how long it was in truth
path-check.py FILE part STAGE PERCENT WHICH   the same, for those that spent at least that part of their time there
path-check.py FILE times STAGE WHICH          how long they spent there, in us, and in all
path-check.py FILE count WHICH                how many there are
path-check.py FILE first                      number of the first byte that was sent
path-check.py FILE flows                      how many different remote ports there are, and how many journeys each
                                              has; 0 when they have not the same number
path-check.py FILE stages WHICH               stages that at least nine of ten have
"""
import collections
import json
import sys


def read(name):
    with open(name, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def chosen(journeys, which):
    code = compile(which, "which", "eval")
    return [j for n, j in enumerate(journeys) if eval(code, {"j": j, "n": n}, j)]  # pylint: disable=eval-used


def spent(journey, stage):
    return sum(s["ns"] for s in journey["stages"] if s["stage"] == stage)


def read_delays(name):
    """Of lines `delay BEGIN END`, in ns."""
    with open(name, encoding="utf-8") as lines:
        words = [line.split() for line in lines]
    return [(int(w[1]), int(w[2])) for w in words if len(w) == 3 and w[0] == "delay"]


def injected(journey, delays, nominal):
    """How long the delay was that fell into a journey; the nominal one when nobody has said."""
    begin, end = journey["time_ns"], journey["time_ns"] + journey["total_ns"]
    fell = [(min(end, b) - max(begin, a), b - a) for a, b in delays if a < end and b > begin]
    return max(fell)[1] if fell else nominal


def percent(found, whole):
    print(100 * len(found) // len(whole) if len(whole) >= 20 else "none")


def sums(journeys):
    for j in journeys:
        at = j["time_ns"]
        for stage in j["stages"]:
            if stage["start_ns"] != at or stage["ns"] < 0:
                return f"a stage begins at {stage['start_ns']} instead of {at}: {j}"
            at += stage["ns"]
        if at - j["time_ns"] != j["total_ns"]:
            return f"stages add up to {at - j['time_ns']}: {j}"
        if set(j["hidden"]) & {s["stage"] for s in j["stages"]}:
            return f"hidden and seen: {j}"
    return "good" if journeys else "no journeys"


def main(name, what, *rest):
    journeys = read(name)
    if what == "sums":
        print(sums(journeys))
    elif what == "share":
        stage, ns, whole = rest[0], float(rest[1]) * 1e9, chosen(journeys, rest[2])
        delays = read_delays(rest[3]) if len(rest) > 3 else []
        percent([j for j in whole if 0.8 <= spent(j, stage) / injected(j, delays, ns) <= 1.2], whole)
    elif what == "part":
        stage, part, whole = rest[0], float(rest[1]) / 100, chosen(journeys, rest[2])
        percent([j for j in whole if spent(j, stage) >= part * j["total_ns"]], whole)
    elif what == "times":
        print(*[f"{spent(j, rest[0]) // 1000}/{j['total_ns'] // 1000}" for j in chosen(journeys, rest[1])])
    elif what == "count":
        print(len(chosen(journeys, rest[0])))
    elif what == "first":
        print(min(journeys, key=lambda j: j["time_ns"])["seq"] + 1)
    elif what == "flows":
        flows = collections.Counter(j["rport"] for j in journeys)
        print(len(flows), max(flows.values()) if len(set(flows.values())) == 1 else 0)
    elif what == "stages":
        whole = chosen(journeys, rest[0])
        seen = [[s["stage"] for s in j["stages"]] for j in whole]
        names = dict.fromkeys(name for stages in seen for name in stages)
        print(*[n for n in names if sum(n in stages for stages in seen) >= 0.9 * len(whole)])


if __name__ == "__main__":
    main(*sys.argv[1:])
