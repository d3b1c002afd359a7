#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# The scoring rewards only right answers: wrong blame, silence and false alarms all cost. No privilege needed.
import copy
import html.parser
import json
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "lab")]
import harness
import page
import paper
import report
import scoring

FAULT_AT = 100.0
OFFSET_NS = 1_700_000_000 * 10 ** 9
TRUTH = {
    "scenario": "T01", "title": "a test", "kind": "fault", "set": "known", "way": "early", "paper": None, "seed": 1,
    "choice": {}, "drawn": {}, "looks": [{"name": "look-1", "begin_ns": 0, "end_ns": None, "exit": 0, "cpu_s": None}],
    "realtime_minus_monotonic_ns": OFFSET_NS,
    "faults": [{"do": "test", "begin_ns": int(FAULT_AT * 1e9)}],
    "answers": [{"causes": ["path-loss"], "layer": "path", "modules": ["10.77.2.2"]}],
    "tolerate": ["path-latency"], "must_not_blame": ["application"], "note_is_enough": False,
    "impact": {"metric": "bytes", "bites": True, "reason": None, "before": 100.0, "after": 10.0,
               "windows": [{"begin": FAULT_AT + n, "end": FAULT_AT + n + 1, "value": 1.0,
                            "label": "impact" if n < 4 else "recovery"} for n in range(6)]},
}


def healthy_truth():
    truth = copy.deepcopy(TRUTH)
    truth.update(scenario="T02", kind="healthy", faults=[], answers=[], tolerate=[], must_not_blame=[])
    truth["impact"].update(windows=[], metric="progress")
    return truth


def finding(cause, module="path:10.77.2.2", certainty=0.9, severity="high", **more):
    return {"cause": cause, "module": module, "certainty": certainty, "severity": severity, **more}


def said(begin, findings, clock=0, length=1000):
    return {"start_ns": int(begin * 1e9) + clock, "window_ms": length, "findings": findings, "modules": [],
            "healthy": not findings}


def write_run(room, truth, lines, name="run"):
    """A record as the runner writes it; lines are window objects or anything else."""
    path = os.path.join(room, name)
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, "truth.json"), "w") as file:
        json.dump(truth, file)
    with open(os.path.join(path, "look-1.jsonl"), "w") as file:
        for line in lines:
            arrived = 0
            if isinstance(line, dict) and "window_ms" in line:
                start = line["start_ns"] - (OFFSET_NS if line["start_ns"] > 10 ** 18 else 0)
                arrived = start + line["window_ms"] * 10 ** 6
            file.write(json.dumps({"arrived_ns": arrived, "said": line}) + "\n")
    return scoring.read_run(path)


def story(before, during, after=(), clock=0):
    """Two windows before the fault, four in its impact, two in the recovery."""
    return ([said(FAULT_AT - 2 + n, list(before), clock) for n in range(2)]
            + [said(FAULT_AT + n, list(during), clock) for n in range(4)]
            + [said(FAULT_AT + 4 + n, list(after), clock) for n in range(2)])


def share(figures, name):
    return figures[name]["share"]


def test_good_and_bad(tap, room):
    right = scoring.add_up([write_run(room, TRUTH, story([], [finding("path-loss")]))])
    for name in ("top_cause", "top_module", "tpr", "ppv"):
        tap.equal(share(right, name), 1.0, f"an oracle is right: {name}")
    tap.equal((share(right, "fpr"), right["false_alarms"], share(right, "forbidden")), (0.0, 0, 0.0),
              "an oracle raises no alarm and blames no innocent")
    tap.equal(right["first_right_s"], 1.0, "the first right verdict arrives with the first window")

    wrong = scoring.add_up([write_run(room, TRUTH, story([], [finding("app-not-reading", "app:1")]))])
    tap.equal((share(wrong, "top_cause"), share(wrong, "tpr"), share(wrong, "ppv")), (0.0, 0.0, 0.0),
              "a wrong verdict scores nothing")
    tap.equal((share(wrong, "forbidden"), wrong["first_right_s"]), (1.0, None),
              "and the innocent module it blamed is reported")

    always = scoring.add_up([write_run(room, TRUTH, story([finding("path-loss")], [finding("path-loss")]))])
    tap.equal((share(always, "tpr"), share(always, "fpr"), always["false_alarms"]), (1.0, 1.0, 1),
              "crying wolf before the fault costs, a lasting cry counts once")
    tap.equal(round(share(always, "ppv"), 3), 0.667, "and lowers the precision")


def test_silence(tap, room):
    quiet = scoring.add_up([write_run(room, TRUTH, story([], []))])
    tap.equal((share(quiet, "tpr"), quiet["tpr"]["total"], share(quiet, "fpr"), share(quiet, "ppv")),
              (0.0, 4, 0.0, None), "seeing nothing misses every window and has no precision to speak of")
    mute = scoring.add_up([write_run(room, TRUTH, [])])
    tap.equal((share(mute, "tpr"), mute["tpr"]["total"]), (0.0, 4), "saying nothing at all misses just as much")
    partly = scoring.add_up([write_run(room, TRUTH, story([], [finding("path-loss")])[:4])])
    tap.equal((partly["tpr"]["right"], partly["tpr"]["total"]), (2, 4), "falling silent half-way misses the rest")
    lines = [{"error": "no"}, "not an object", {"start_ns": 5}]
    garbage = scoring.add_up([write_run(room, TRUTH, lines)])
    tap.equal((garbage["garbage"], share(garbage, "tpr")), (3, 0.0), "nonsense is counted and scores nothing")


def test_fine_print(tap, room):
    def figures(during, truth=TRUTH, before=(), after=()):
        return scoring.add_up([write_run(room, truth, story(before, during, after))])

    place = figures([finding("path-loss", "path:10.77.2.22")])
    tap.equal((share(place, "top_cause"), share(place, "top_module")), (1.0, 0.0),
              "the right cause at the wrong module is half a success; 10.77.2.22 is not 10.77.2.2")
    faint = figures([finding("path-loss", certainty=0.3)])
    tap.equal(share(faint, "tpr"), 0.0, "below the threshold is not said")
    note = [finding("path-loss", severity="info")]
    tap.equal(share(figures(note), "tpr"), 0.0, "a note is not a verdict")
    tap.equal(share(figures([], before=note), "fpr"), 0.0, "and not an alarm")
    enough = dict(TRUTH, note_is_enough=True)
    tap.equal(share(figures(note, enough), "tpr"), 1.0, "unless the scenario says that a note is enough")
    lines = [dict(window, notes=note) for window in story([], [], [])]
    tap.equal(share(scoring.add_up([write_run(room, enough, lines)]), "tpr"), 1.0, "also beside the findings")
    side = figures([finding("path-loss"), finding("path-latency")])
    tap.equal((share(side, "ppv"), side["windows"]), (1.0, 4), "a tolerated side remark costs nothing")
    second = figures([finding("no-route"), finding("path-loss")])
    tap.equal((share(second, "top_cause"), share(second, "tpr"), share(second, "ppv")), (0.0, 1.0, 0.5),
              "the culprit in second place is named, but not first")
    other = copy.deepcopy(TRUTH)
    other["answers"][0]["causes"].append("path-policed")
    tap.equal(share(figures([finding("path-policed")], other), "top_cause"), 1.0, "an accepted alternative is right")
    late = figures([finding("path-loss")], after=[finding("path-loss")])
    tap.equal((share(late, "fpr"), share(late, "recovery_alarms"), share(late, "ppv")), (0.0, 1.0, 1.0),
              "alarms during recovery are counted separately")
    unclear = figures([finding("no-route", ambiguous_with=["path-loss"])])
    tap.equal((share(unclear, "set_has_truth"), unclear["mean_set_size"], share(unclear, "top_cause")),
              (1.0, 2.0, 0.0), "the truth within an ambiguous set is counted, but is not a first place")
    near = figures([finding("path-outage", ambiguous_with=["path-loss"])])
    tap.equal((share(unclear, "mixed_sides"), share(near, "mixed_sides")), (1.0, 0.0),
              "whether the set spans path, peer and own host")


def test_compound(tap, room):
    truth = copy.deepcopy(TRUTH)
    truth["answers"].append({"causes": ["app-not-reading"], "layer": "application", "modules": ["77"]})
    both = [finding("path-loss"), finding("app-not-reading", "app:77")]
    tap.equal(share(scoring.add_up([write_run(room, truth, story([], both))]), "tpr"), 1.0, "two faults, two names")
    half = scoring.add_up([write_run(room, truth, story([], both[:1]))])
    tap.equal((share(half, "tpr"), share(half, "top_cause")), (0.0, 1.0), "one of two is not both")


def test_runs(tap, room):
    truth = copy.deepcopy(TRUTH)
    truth["impact"].update(bites=False, reason="did not bite")
    runs = [write_run(room, truth, story([finding("no-route")], []), "a")]
    figures = scoring.add_up(runs)
    tap.equal((figures["invalid"], figures["windows"], figures["false_alarms"]), (1, 0, 0),
              "a run whose fault did not bite is not scored at all")
    cut = write_run(room, dict(TRUTH, impact=None), story([finding("no-route")], [finding("path-loss")]), "cut")
    figures = scoring.score([cut])["ways"]["early"]
    tap.equal((figures["total"]["invalid"], figures["invalid"][0]["reason"]), (1, "the run did not finish"),
              "a run that was cut off is not scored either")
    lines = [said(50 + n, [finding("link-down")] if n in (1, 2, 5) else []) for n in range(10)]
    healthy = scoring.add_up([write_run(room, healthy_truth(), lines, "b")])
    tap.equal((healthy["false_alarms"], healthy["fpr"]["right"], healthy["alarms_per_hour"]), (2, 3, 720.0),
              "two episodes in ten healthy seconds are 720 an hour")
    sliding = write_run(room, healthy_truth(), [said(50 + n, [], length=3000) for n in range(8)], "sliding")
    tap.equal((scoring.healthy_seconds(sliding), scoring.add_up([sliding])["healthy_windows"]), (10.0, 8),
              "windows that overlap do not stretch the time")
    real = write_run(room, TRUTH, story([], [finding("path-loss")], clock=OFFSET_NS), "c")
    tap.equal(share(scoring.add_up([real]), "tpr"), 1.0, "realtime stamps are understood")
    own = [dict(line, threshold=0.95) for line in story([], [finding("path-loss")])]
    tap.equal(share(scoring.add_up([write_run(room, TRUTH, own, "d")]), "tpr"), 0.0,
              "a threshold of the diagnosis itself is respected")
    said_healthy = [dict(line, healthy=True) for line in story([], [finding("path-loss")])]
    tap.equal(share(scoring.add_up([write_run(room, TRUTH, said_healthy, "e")]), "tpr"), 0.0,
              "what stands below a healthy verdict is not blame")


def test_layers(tap, room):
    runs = [write_run(room, TRUTH, story([], [finding("path-loss")]), "x"),
            write_run(room, healthy_truth(), [said(50 + n, [finding("path-loss")]) for n in range(4)], "y")]
    path = scoring.per_layer(runs)["path"]
    tap.equal((share(path, "tpr"), share(path, "ppv"), round(share(path, "fpr"), 3)), (1.0, 0.5, 0.667),
              "a layer's precision falls with alarms in other runs")
    cells = scoring.confusion(runs)
    tap.equal((cells[("path", "path")], cells[("healthy", "path")], cells[("healthy", "nothing")]), (4, 4, 2),
              "the confusion matrix counts windows")


def test_wilson(tap):
    tap.equal([round(value, 4) for value in scoring.wilson(5, 10)], [0.2366, 0.7634], "Wilson's interval of 5/10")
    tap.equal([round(value, 4) for value in scoring.wilson(0, 10)], [0.0, 0.2775], "of 0/10")
    tap.equal([round(value, 4) for value in scoring.wilson(10, 10)], [0.7225, 1.0], "of 10/10")
    tap.equal(scoring.wilson(0, 0), (None, None), "without a trial nothing is known")


def test_paper(tap, room):
    truth = dict(copy.deepcopy(TRUTH), kind="paper", paper="tcp")
    truth["answers"][0].update(causes=["path-blackhole", "path-outage"])
    runs = [write_run(room, truth, story([], [finding("path-blackhole")]), "p"),
            write_run(room, dict(healthy_truth(), kind="paper", paper="control"),
                      [said(50 + n, [finding("path-blackhole")] if n == 0 else []) for n in range(4)], "q")]
    rows = paper.table(runs)
    tap.equal((share(rows["tcp"], "tpr"), share(rows["tcp"], "ppv"), share(rows["tcp"], "fpr")), (1.0, 0.8, 1 / 6),
              "the paper's table: a blamed control is a false positive of that fault")
    tap.equal(rows["network"]["tpr"]["total"], 0, "a fault that was not run has no figure")
    tap.equal(paper.table([]), None, "no paper run, no table")


def late_run(room, looks, truth=TRUTH, way="late", name="late", cpu_s=0.3):
    """A record of looks of 3 s: (seconds after the fault, the findings of each of its windows)."""
    taken = [{"name": f"look-{number}", "begin_ns": int((FAULT_AT + after) * 1e9),
              "end_ns": int((FAULT_AT + after + 3) * 1e9), "exit": 0, "cpu_s": cpu_s}
             for number, (after, _) in enumerate(looks, 1)]
    path = os.path.join(room, f"{name}-{way}")
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, "truth.json"), "w") as file:
        json.dump(dict(truth, way=way, looks=taken), file)
    for number, (after, windows) in enumerate(looks, 1):
        with open(os.path.join(path, f"look-{number}.jsonl"), "w") as file:
            for place, findings in enumerate(windows):
                arrived = int((FAULT_AT + after + place + 1) * 1e9)
                file.write(json.dumps({"arrived_ns": arrived,
                                       "said": said(FAULT_AT + after + place, findings)}) + "\n")
    return scoring.read_run(path)


def test_late(tap, room):
    right, wrong = [finding("path-loss")], [finding("app-not-reading", "app:1")]

    def figures(*looks, truth=TRUTH):
        return scoring.add_up([late_run(room, looks, truth)])

    oracle = figures((0.5, [right] * 3), (2.0, [right] * 3))
    for name in ("top_cause", "top_module", "tpr", "ppv"):
        tap.equal((share(oracle, name), oracle[name]["total"]), (1.0, 2), f"late, an oracle is right: {name}")
    tap.equal((oracle["looks"], oracle["first_right_s"], oracle["found_runs"]["right"]), (2, 3.0, 1),
              "its verdict comes with the end of the look")
    liar = figures((0.5, [wrong] * 3), (2.0, [wrong] * 3))
    tap.equal([share(liar, name) for name in ("top_cause", "top_module", "tpr", "ppv", "forbidden")],
              [0.0, 0.0, 0.0, 0.0, 1.0], "late, a liar scores nothing and blames an innocent of the list")
    mute = figures((0.5, []), (2.0, []))
    tap.equal((share(mute, "top_cause"), mute["tpr"]["total"], share(mute, "ppv"), mute["silent"]), (0.0, 2, None, 2),
              "late, a mute misses every look")
    tap.equal([share(figures((0.5, windows)), "top_cause") for windows in ([wrong, right], [right, wrong])],
              [1.0, 0.0], "only the last verdict of a look counts")


def test_late_impact(tap, room):
    right = [finding("path-loss")]

    def labels(*afters):
        return [window.label for window in late_run(room, [(after, [right]) for after in afters]).windows]

    tap.equal(labels(0.5, 3.0, 6.0, 6.9), ["impact", "impact", "impact", "recovery"],
              "a look counts until 3 s after the impact")
    late = scoring.add_up([late_run(room, [(1.0, [right]), (9.5, [[]])])])
    tap.equal((late["looks"], late["windows"], late["outside"], share(late, "tpr")), (2, 1, 1, 1.0),
              "a look after it is not scored, and is reported")
    truth = copy.deepcopy(TRUTH)
    for place in (2, 3):
        truth["impact"]["windows"][place]["label"] = "recovery"
    truth["impact"]["windows"] += [{"begin": FAULT_AT + 6 + n, "end": FAULT_AT + 7 + n, "value": 1.0, "label":
                                    "impact" if 4 <= n < 6 else "recovery"} for n in range(8)]
    run = late_run(room, [(4.0, [[]]), (5.7, [[]]), (6.0, [[]]), (8.0, [right])], truth)
    tap.equal([window.label for window in run.windows], ["impact", "recovery", "recovery", "impact"],
              "between two outages the applications decide")
    healthy = scoring.add_up([late_run(room, [(0, [right]), (6, [[]]), (12, [])], healthy_truth())])
    tap.equal((healthy["fpr"]["right"], healthy["fpr"]["total"], healthy["healthy_kinds"], healthy["silent"]),
              (1, 2, 1, 1), "a healthy look with an alarm is one; a mute look is no proof of health")


def test_ways(tap, room):
    right, new = [finding("path-loss")], dict(TRUTH, scenario="T03", set="unseen-1")
    runs = [write_run(room, TRUTH, story([], [finding("path-loss")]), "w1"),
            late_run(room, [(1, [[]]), (2, [right])], name="w2", cpu_s=0.3),
            late_run(room, [(1, [[finding("path-latency", certainty=0.41)]])], new, name="w3", cpu_s=0.9),
            late_run(room, [(1, [right])], way="past", name="w4")]
    result = scoring.score(runs)
    tap.equal({way: figures["top_cause"]["total"] for way, figures in
               ((way, one["total"]) for way, one in result["ways"].items())}, {"late": 3, "past": 1, "early": 4},
              "each way has its own figures")
    late = result["ways"]["late"]
    tap.equal({name: (one["kinds"], one["top_cause"]["right"], one["top_cause"]["total"])
               for name, one in late["sets"].items()}, {"known": (1, 1, 2), "unseen-1": (1, 0, 1)},
              "so has each set of kinds")
    tap.equal((round(late["total"]["cpu"]["median"], 3), round(late["total"]["cpu"]["p95"], 3)), (0.1, 0.3),
              "the CPU time of a look is a share of a core")
    tap.equal([(one["scenario"], one["what"], one["said"], one["where"][0]["look"]) for one in late["misses"]],
              [("T01", "cause", "nothing", 1),
               ("T03", "cause", "nothing (below the threshold: path-latency 0.41)", 1)],
              "every miss is listed with what was said instead")
    only = scoring.score(runs[:1], {"past": "no such option"})
    tap.equal(only["not_measured"], {"late": "no runs", "past": "no such option"}, "a way without runs says why")
    only.update(broken=[], verdict=None, paper=None)
    tap.ok("late with a past: not measured: no such option" in report.render(only)
           and "not measured: no such option" in page.render(only), "and so do the reports")


class Strict(html.parser.HTMLParser):
    void = {"meta", "br", "rect", "line", "img", "link"}

    def __init__(self):
        super().__init__()
        self.open, self.problems, self.seen = [], [], set()

    def handle_starttag(self, tag, attributes):
        self.seen.add(tag)
        if tag not in self.void:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.seen.add(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(tag)


def test_reports(tap, room):
    nasty = dict(TRUTH, title="<script>alert(1)</script>")
    runs = [write_run(room, nasty, story([], [finding("path-loss")]), "r1"),
            write_run(room, healthy_truth(), [said(50, [finding("no-route")])], "r2"),
            late_run(room, [(1, [[finding("no-route")]])], nasty, name="r3")]
    result = scoring.score(runs)
    result.update(broken=[], verdict="stub", paper=paper.table(runs))
    text = page.render(result)
    parser = Strict()
    parser.feed(text)
    tap.equal((parser.problems, parser.open), ([], []), "the page is well formed")
    tap.ok("script" not in parser.seen and "//" not in text.replace("</", ""), "it runs nothing and fetches nothing")
    tap.ok("&lt;script&gt;" in text, "text from scenarios is escaped")
    plain = report.render(result)
    tap.ok("T01" in plain and "top-1 cause" in plain and "100.0 %" in plain, "the text names scenario and figures")
    tap.ok(plain.index("Misses: late") < plain.index("Misses: early") and "no-route" in plain and "1.1 (1 s)" in plain,
           "misses of late looks come first")
    empty = scoring.score([])
    empty.update(broken=[], verdict=None, paper=None)
    tap.ok("late: not measured: no runs" in report.render(empty) and "Nothing was measured" in page.render(empty),
           "no run at all is no reason to fall over")


def main():
    tap = harness.Tap()
    with tempfile.TemporaryDirectory() as room:
        for test in (test_good_and_bad, test_silence, test_fine_print, test_compound, test_runs, test_layers,
                     test_paper, test_late, test_late_impact, test_ways, test_reports):
            test(tap, room)
    test_wilson(tap)
    tap.done()


main()
