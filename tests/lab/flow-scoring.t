#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# The scoring of the flow comparison: an oracle scores everything; a liar, a mute and an accuser lose. Needs no root.
import json
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "lab", "flows")]
import harness
import flow_lab
import flow_scoring

BAD = [4001, 4002]
TRUTH = {"case": {"server": "s", "what": "slow", "kind": "slow", "bad": 2, "sessions": 20, "seed": 1}, "load": "quiet",
         "background": "uniform", "port": 80, "functions": ["compress_page"], "labelled_only": False, "bad": BAD,
         "clients": 20, "errors": [], "failed": 0, "bad_seconds": 0.2, "good_seconds": 0.001}
HEALTHY = dict(TRUTH, case=dict(TRUTH["case"], what="post", kind="healthy", bad=0), functions=[], bad=[],
               bad_seconds=None)
PORTS = {str(n): 4000 + n for n in range(1, 21)}


def said(function, members=None, sessions=0):
    group = {"name": "bad", "sessions": sessions}
    if members is not None:
        group.update(members=members, sessions=len(members))
    return {"groups": [{"name": "good", "sessions": 18}, group],
            "divergence": {"function": function} if function else None}


def answer(free, labelled=None):
    return {"ports": PORTS, "rows": 20, "bad_seen": 2, "unlabelled": free, "labelled": labelled, "seconds": 0.1,
            "said": ""}


def figures(*results):
    total = flow_scoring.score(list(results))["total"]
    return {name: total[name]["right"] for name in total}


def test_faults(tap):
    oracle = answer(said("compress_page", [1, 2]), said("compress_page"))
    tap.equal(figures((TRUTH, oracle)),
              {"right": 1, "function": 1, "exact": 1, "nearly": 1, "labelled": 1, "healthy_named": 0},
              "an oracle has function, members and label")
    liar = answer(said("make_answer", [3, 4]), said("make_answer"))
    tap.equal(set(figures((TRUTH, liar)).values()), {0}, "a liar has nothing")
    mute = answer(said(None, []), said(None))
    tap.equal(set(figures((TRUTH, mute)).values()), {0}, "a mute has nothing")
    tap.equal(set(figures((TRUTH, None)).values()), {0}, "a comparison that failed has nothing")
    innocent = answer(said("compress_page", [1, 2, 3]), said("compress_page"))
    row = flow_scoring.judge(TRUTH, innocent)
    tap.equal((row["function"], row["exact"], row["nearly"], row["right"]), (True, False, False, False),
              "one innocent beside two bad sessions is a Jaccard of 0.67: the function alone is not right")
    many = dict(TRUTH, bad=list(range(4001, 4006)))
    row = flow_scoring.judge(many, dict(answer(said("compress_page", [1, 2, 3, 4])), bad_seen=5))
    tap.equal((row["exact"], row["nearly"], row["right"]), (False, True, True), "four of five are nearly all")
    row = flow_scoring.judge(TRUTH, answer(said("compress_page", [1, 2, 77])))
    tap.equal(row["nearly"], False, "a session of no client is a wrong member")
    row = flow_scoring.judge(TRUTH, answer(said("compress_page", sessions=2)))
    tap.equal((row["exact"], row["members_listed"]), (True, False), "without members their number counts, marked")


def test_healthy(tap):
    quiet, accuser = answer(said(None, [])), answer(said("read_request", [5, 6]))
    tap.equal(figures((HEALTHY, quiet))["healthy_named"], 0, "silence about a healthy server is right")
    tap.equal(figures((HEALTHY, accuser))["healthy_named"], 1, "a name is not")
    tap.equal(figures((HEALTHY, None))["healthy_named"], 1, "and a failure is no silence")


def test_invalid(tap):
    for change, title in (({"bad_seconds": 0.01}, "a fault that the clients did not feel"),
                          ({"failed": 2}, "a recording whose clients failed")):
        result = flow_scoring.score([(dict(TRUTH, **change), answer(said("compress_page", [1, 2])))])
        tap.equal((result["total"]["right"]["total"], len(result["invalid"])), (0, 1), f"{title} is not scored")
    lost = dict(answer(said("compress_page", [1, 2])), bad_seen=1)
    tap.ok(flow_scoring.judge(TRUTH, lost)["invalid"], "nor one that lacks a bad session")


def test_structure(tap):
    truth = dict(TRUTH, labelled_only=True, bad_seconds=0.001)
    total = flow_scoring.score([(truth, answer(said(None, []), said("compress_page")))])["total"]
    tap.equal((total["right"]["total"], total["labelled"]["right"]), (0, 1), "structure alone counts with labels only")
    row = flow_scoring.judge(truth, answer(said(None, []), said("compress_page")))
    tap.equal(flow_scoring.is_miss(row), False, "and silence without them is no miss")


def test_report(tap):
    results = [(TRUTH, answer(said("compress_page", [1, 2]), said("compress_page"))),
               (HEALTHY, answer(said("read_request", [5])))]
    text = flow_scoring.render(flow_scoring.score(results))
    tap.ok("1/1 100% (21-100)" in text and "miss s.post.0of20.1 (quiet): named read_request" in text,
           "the text has intervals and misses")
    tap.ok("Traceback" not in flow_scoring.render(flow_scoring.score([])), "no recording is no reason to fail")


def test_files(tap, room):
    with open(os.path.join(room, "truth.json"), "w", encoding="utf-8") as f:
        json.dump(TRUTH, f)
    tap.equal(flow_scoring.read_result(room), (TRUTH, None), "a recording without an answer is read")


def test_declarations(tap):
    flow_lab.load_all()
    ids = [case.id for case in flow_lab.cases([1, 2])]
    tap.equal(len(ids), len(set(ids)), "every recording has its own name")
    tap.ok(len(flow_lab.SERVERS) >= 8, f"{len(flow_lab.SERVERS)} servers")
    for name in flow_lab.SERVERS:
        kinds = {f.kind for f in flow_lab.FAULTS if f.server == name}
        tap.ok(len(kinds) >= 5, f"{name}: {len(kinds)} kinds of faults")
    tap.equal([f.name for f in flow_lab.FAULTS if not f.functions or f.server not in flow_lab.SERVERS], [],
              "every fault has an answer and a server")
    tap.equal({case.load for case in flow_lab.cases(range(4))}, {"quiet", "hog"}, "seeds vary the load")


def test_apart(tap):
    """A server that is kept apart with all its recordings, and a fault of one that is not."""
    flow_lab.server("kept", None, apart=True)(None)
    flow_lab.server("known", None)(None)
    flow_lab.fault("kept known", "drip", "f")(None)
    flow_lab.fault("known", "dns", "f", apart=True)(None)
    flow_lab.load_all()
    apart = {(case.server, case.what): case.apart for case in flow_lab.cases([1])}
    tap.equal([apart[key] for key in (("kept", "drip"), ("kept", "post"), ("known", "dns"))], [True] * 3,
              "what is kept apart is marked")
    tap.equal([apart[key] for key in (("known", "drip"), ("known", "post"))], [False] * 2, "the rest is not")


def main():
    tap = harness.Tap()
    for test in (test_faults, test_healthy, test_invalid, test_structure, test_report, test_declarations, test_apart):
        test(tap)
    with tempfile.TemporaryDirectory() as room:
        test_files(tap, room)
    tap.done()


main()
