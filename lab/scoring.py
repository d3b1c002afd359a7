# SPDX-License-Identifier: GPL-2.0-or-later
"""Scores recorded runs: compares the diagnosis with the ground truth.

The unit is one window of the diagnosis: each window of an early look, the last
one of a late look. A window lies before the fault (all is healthy), in the
impact period (the culprit must be reported), in the recovery (counted
separately: a connection in backoff is slow after the fault is gone), or across
an edge (not scored). Seconds of impact and looks without a verdict are misses,
so silence never scores better than an answer. docs/lab.md has the definitions.
"""

import dataclasses
import hashlib
import json
import math
import os
import re

from look import DEFAULT_WAYS, WAYS, WINDOWED
from vocabulary import LAYER_OF

DEFAULT_THRESHOLD = 0.5
MOSTLY = 0.6
REALTIME_FROM_NS = 10 ** 18
HEALTHY_LABELS = ("healthy", "before")
# A late look counts if the fault had an impact in it or this many seconds before.
RECENT_S = 3.0
# So much of a second of impact must lie in that time.
TOUCHED_S = 0.5


def wilson(right, total, z=1.96):
    """95 % confidence interval of a proportion; (None, None) without trials."""
    if total == 0:
        return None, None
    share = right / total
    middle = share + z * z / (2 * total)
    spread = z * math.sqrt(share * (1 - share) / total
                           + z * z / (4 * total * total))
    bottom = 1 + z * z / total
    return max(0.0, (middle - spread) / bottom), \
        min(1.0, (middle + spread) / bottom)


def proportion(right, total):
    low, high = wilson(right, total)
    return {"right": right, "total": total,
            "share": right / total if total else None,
            "low": low, "high": high}


@dataclasses.dataclass
class Window:
    """One window of the diagnosis with its time and label."""
    begin: float
    end: float
    arrived: float
    blames: list
    notes: list
    modules: dict
    label: str = "edge"
    look: int = 1
    silent: bool = False
    baseline_s: float = None


@dataclasses.dataclass
class Run:
    """One recorded run."""
    path: str
    truth: dict
    windows: list
    garbage: int = 0

    @property
    def way(self):
        return self.truth["way"]

    @property
    def valid(self):
        impact = self.truth.get("impact")
        return bool(impact and impact["bites"])

    @property
    def is_fault(self):
        return bool(self.truth["answers"])

    @property
    def fault_at(self):
        faults = self.truth["faults"]
        return faults[0]["begin_ns"] / 1e9 if faults else None


# reading

def split_findings(said, threshold):
    """(findings, notes) of one window."""
    threshold = said.get("threshold", threshold)
    blames, notes = [], []
    for finding in (said.get("findings") or []) + (said.get("notes") or []):
        certainty = finding.get("certainty")
        loud = (not said.get("healthy") and certainty is not None
                and certainty >= threshold
                and finding.get("severity") != "info")
        (blames if loud else notes).append(finding)
    return blames, notes


def read_window(record, offset_ns, threshold):
    said = record["said"]
    start_ns = said["start_ns"]
    if start_ns >= REALTIME_FROM_NS:
        start_ns -= offset_ns
    begin = start_ns / 1e9
    blames, notes = split_findings(said, threshold)
    modules = {module.get("id"): module for module in said.get("modules") or []}
    return Window(begin, begin + said["window_ms"] / 1e3,
                  record["arrived_ns"] / 1e9, blames, notes, modules,
                  baseline_s=said.get("baseline_s"))


def read_look(run, name, threshold):
    """The windows of one look; counts lines that are none."""
    windows = []
    try:
        with open(os.path.join(run.path, name + ".jsonl")) as file:
            records = [json.loads(line) for line in file]
    except FileNotFoundError:
        records = []
    for record in records:
        try:
            windows.append(read_window(
                record, run.truth["realtime_minus_monotonic_ns"], threshold))
        except (KeyError, TypeError, AttributeError):
            run.garbage += 1
    return windows


def last_verdict(taken, windows):
    """What a late look says: its last window, for the time of the look."""
    begin = taken["begin_ns"] / 1e9
    end = (taken["end_ns"] or taken["begin_ns"]) / 1e9
    if not windows:
        return Window(begin, end, end, [], [], {}, silent=True)
    return dataclasses.replace(windows[-1], begin=begin, end=end)


def read_run(path, threshold=DEFAULT_THRESHOLD, suffix=""):
    """A record; the suffix selects what another engine said."""
    with open(os.path.join(path, "truth.json")) as file:
        truth = json.load(file)
    run = Run(path, truth, [])
    for number, taken in enumerate(truth["looks"], 1):
        windows = read_look(run, taken["name"] + suffix, threshold)
        if run.way not in WINDOWED:
            windows = [last_verdict(taken, windows)]
        run.windows += [dataclasses.replace(window, look=number)
                        for window in windows]
    if truth.get("impact"):
        for window in run.windows:
            window.label = label(run, window) if run.way in WINDOWED \
                else label_late(run, window)
    return run


def overlap(begin, end, other_begin, other_end):
    return max(0.0, min(end, other_end) - max(begin, other_begin))


def label(run, window):
    """Phase of the run that this window lies in."""
    if not run.is_fault:
        return "healthy"
    if window.end <= run.fault_at:
        return "before"
    if window.begin < run.fault_at:
        return "edge"
    judged = run.truth["impact"]["windows"]
    length = window.end - window.begin
    if not judged or length <= 0 or overlap(
            window.begin, window.end, judged[0]["begin"],
            judged[-1]["end"]) < MOSTLY * length:
        return "edge"
    shares = {}
    for second in judged:
        shares[second["label"]] = shares.get(second["label"], 0.0) + overlap(
            window.begin, window.end, second["begin"], second["end"])
    name, share = max(shares.items(), key=lambda item: item[1])
    return name if share >= MOSTLY * length else "edge"


def label_late(run, window):
    """Whether the fault had an impact in a late look or shortly before."""
    if not run.is_fault:
        return "edge" if window.silent else "healthy"
    names = {second["label"] for second in run.truth["impact"]["windows"]
             if overlap(window.begin - RECENT_S, window.end, second["begin"],
                        second["end"]) >= TOUCHED_S}
    return next((name for name in ("impact", "recovery") if name in names),
                "edge")


# judging one finding

def words_of(finding, modules):
    """All identifiers of the blamed module as one text."""
    identity = finding.get("module")
    module = modules.get(identity) or {}
    values = [identity, module.get("name")]
    values += [value for value in module.values()
               if isinstance(value, (str, int)) and not isinstance(value, bool)]
    return " ".join(str(value) for value in values if value is not None)


def has_word(text, word):
    """Whole-word match: 10.77.2.2 is not in 10.77.2.22."""
    pattern = rf"(?<![0-9A-Za-z.]){re.escape(word)}(?![0-9A-Za-z])(?!\.[0-9])"
    return re.search(pattern, text) is not None


def module_matches(patterns, finding, modules):
    text = words_of(finding, modules)
    return any(pattern == "*" or
               all(has_word(text, word) for word in pattern.split())
               for pattern in patterns)


def answer_of(finding, answers):
    """The expected answer whose cause a finding names, or None."""
    for answer in answers:
        if finding.get("cause") in answer["causes"]:
            return answer
    return None


def layer_of(finding, answers):
    answer = answer_of(finding, answers)
    if answer:
        return answer["layer"]
    return LAYER_OF.get(finding.get("cause"), finding.get("layer") or "unknown")


def is_listed(finding, words):
    cause = finding.get("cause")
    return cause in words or LAYER_OF.get(cause, finding.get("layer")) in words


@dataclasses.dataclass
class Judgement:
    """Score of one window."""
    label: str
    named: bool
    top_cause: bool
    top_module: bool
    top_layer: str
    top_name: str
    wrong: int
    right: int
    forbidden: bool
    layers: set
    set_size: int
    in_set: bool
    sides: int
    said: str = "nothing"
    accused: str = None
    window: Window = None


def judge(run, window):
    in_impact = window.label == "impact"
    answers = run.truth["answers"] if in_impact else []
    counted = window.blames
    if in_impact and run.truth["note_is_enough"]:
        counted = counted + [note for note in window.notes
                             if answer_of(note, answers)]
    counted = [finding for finding in counted if answer_of(finding, answers)
               or not is_listed(finding, run.truth["tolerate"])]
    right = [finding for finding in counted if answer_of(finding, answers)]
    top = counted[0] if counted else None
    top_answer = answer_of(top, answers) if top else None
    named = bool(answers) and all(
        any(finding.get("cause") in answer["causes"] for finding in counted)
        for answer in answers)
    candidates = {top.get("cause"), *(top.get("ambiguous_with") or [])} \
        if top else set()
    return Judgement(
        window.label, named, top_answer is not None,
        top_answer is not None and module_matches(
            top_answer["modules"], top, window.modules),
        layer_of(top, answers) if top else "nothing",
        top.get("cause") or "?" if top else "nothing",
        len(counted) - len(right), len(right),
        any(is_listed(finding, run.truth["must_not_blame"])
            for finding in counted if not answer_of(finding, answers)),
        {layer_of(finding, answers) for finding in counted},
        len(candidates),
        any(candidates & set(answer["causes"]) for answer in answers),
        len({side_of(cause) for cause in candidates}),
        say(window, counted), top.get("module") if top else None, window)


def side_of(cause):
    """Where a cause lies: path, peer or own host."""
    layer = LAYER_OF.get(cause)
    return layer if layer in ("path", "peer") else "own host"


def say(window, counted):
    """What a window says, in short; a faint suspicion if that is all."""
    if counted:
        return ", ".join(finding.get("cause") or "?" for finding in counted)
    faint = [note for note in window.notes if note.get("certainty")]
    if faint:
        first = max(faint, key=lambda note: note["certainty"])
        return (f"nothing (below the threshold: {first.get('cause')} "
                f"{first['certainty']:.2f})")
    return "no verdict" if window.silent else "nothing"


def silent_seconds(run):
    """Impact seconds without a window of the diagnosis: misses."""
    missed = 0
    for second in run.truth["impact"]["windows"]:
        if second["label"] == "impact" and not any(
                overlap(second["begin"], second["end"], window.begin,
                        window.end) > 0 for window in run.windows):
            missed += 1
    return missed


SILENCE = Judgement("impact", False, False, False, "nothing", "nothing", 0, 0,
                    False, set(), 0, False, 0)


def judge_run(run):
    """All scores of a valid run, including misses."""
    judged = [judge(run, window) for window in run.windows]
    if run.is_fault and run.way in WINDOWED:
        judged += [SILENCE] * silent_seconds(run)
    return judged


def is_named(run, window):
    findings = window.blames + (window.notes if run.truth["note_is_enough"]
                                else [])
    return all(any(finding.get("cause") in answer["causes"]
                   for finding in findings) for answer in run.truth["answers"])


def right_after(run):
    """Seconds to a right verdict: early from the fault, once; late from the
    beginning of each look."""
    if not run.is_fault:
        return []
    if run.way in WINDOWED:
        return [window.arrived - run.fault_at for window in run.windows
                if window.end > run.fault_at and is_named(run, window)][:1]
    return [window.arrived - window.begin for window in run.windows
            if window.label == "impact" and is_named(run, window)]


def alarm_episodes(run):
    """False alarms in healthy time; a continuous one counts once."""
    episodes, before = 0, set()
    for window in run.windows:
        now = set()
        if window.label in HEALTHY_LABELS:
            now = {finding.get("cause") for finding in window.blames
                   if not is_listed(finding, run.truth["tolerate"])}
        episodes += len(now - before)
        before = now
    return episodes


def healthy_seconds(run):
    """Healthy time covered by windows, which may overlap."""
    seconds, seen = 0.0, float("-inf")
    for window in sorted(run.windows, key=lambda one: one.begin):
        if window.label in HEALTHY_LABELS and window.end > seen:
            seconds += window.end - max(window.begin, seen)
            seen = window.end
    return seconds


# aggregation

def half_of(scenario_id):
    """A stable split: tune rules on one half, report the other."""
    digest = hashlib.sha256(scenario_id.encode()).digest()
    return "tuning" if digest[0] % 2 else "held-out"


def median(values):
    ordered = sorted(values)
    if not ordered:
        return None
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2


def quantile(values, share):
    """Nearest rank; None without values."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] \
        if ordered else None


def costs(programs):
    """CPU time of programs of nest as a share of one core."""
    shares = [one["cpu_s"] / ((one["end_ns"] - one["begin_ns"]) / 1e9)
              for one in programs
              if one and one["cpu_s"] is not None and one["end_ns"]]
    return {"programs": len(shares), "median": median(shares),
            "p95": quantile(shares, 0.95)}


def add_up(runs):
    """Metrics of a set of runs of one way: a scenario, a set of them, all."""
    valid = [run for run in runs if run.valid]
    judged = [one for run in valid for one in judge_run(run)]
    impact = [one for one in judged if one.label == "impact"]
    healthy = [one for one in judged if one.label in HEALTHY_LABELS]
    recovery = [one for one in judged if one.label == "recovery"]
    right = sum(one.right for one in judged)
    wrong = sum(one.wrong for one in impact + healthy)
    seconds = sum(healthy_seconds(run) for run in valid)
    alarms = sum(alarm_episodes(run) for run in valid)
    times = [right_after(run) for run in valid]
    faults = [run for run in valid if run.is_fault]
    looks = [one for run in valid for one in run.truth["looks"]]
    return {
        "kinds": len({run.truth["scenario"] for run in runs}),
        "runs": len(runs), "invalid": len(runs) - len(valid),
        "looks": len(looks), "windows": len(impact),
        "healthy_windows": len(healthy), "outside": len(judged) - len(impact)
        - len(healthy),
        "healthy_kinds": len({run.truth["scenario"] for run in valid
                              if not run.is_fault}),
        "garbage": sum(run.garbage for run in valid),
        "silent": sum(window.silent for run in valid for window in run.windows),
        "failed": sum(one["exit"] not in (None, 0) for one in looks),
        "top_module": proportion(sum(one.top_module for one in impact),
                                 len(impact)),
        "top_cause": proportion(sum(one.top_cause for one in impact),
                                len(impact)),
        "tpr": proportion(sum(one.named for one in impact), len(impact)),
        "fpr": proportion(sum(one.wrong > 0 for one in healthy), len(healthy)),
        "ppv": proportion(right, right + wrong),
        "forbidden": proportion(sum(one.forbidden for one in impact),
                                len(impact)),
        "recovery_alarms": proportion(sum(one.wrong > 0 for one in recovery),
                                      len(recovery)),
        "set_has_truth": proportion(sum(one.in_set for one in impact),
                                    len(impact)),
        "mixed_sides": proportion(sum(one.sides > 1 for one in impact),
                                  len(impact)),
        "mean_set_size": mean([one.set_size for one in impact
                               if one.set_size]),
        "found_runs": proportion(sum(map(bool, times)), len(faults)),
        "first_right_s": median([time for some in times for time in some]),
        "healthy_hours": seconds / 3600,
        "false_alarms": alarms,
        "alarms_per_hour": alarms / (seconds / 3600) if seconds else None,
        "baseline_s": median([window.baseline_s for run in valid
                              for window in run.windows
                              if window.baseline_s is not None]),
        "cpu": costs(looks),
        "recorder_cpu": costs(run.truth.get("recorder") for run in valid),
    }


def mean(values):
    return sum(values) / len(values) if values else None


def per_layer(runs):
    """TPR, FPR and PPV of each layer over all scored windows."""
    units = [(one, truth_layers(run, one)) for run in runs if run.valid
             for one in judge_run(run)
             if one.label == "impact" or one.label in HEALTHY_LABELS]
    table = {}
    for layer in sorted({layer for _, truth in units for layer in truth}
                        | {layer for one, _ in units for layer in one.layers}):
        hit = sum(layer in truth and layer in one.layers
                  for one, truth in units)
        miss = sum(layer in truth and layer not in one.layers
                   for one, truth in units)
        false = sum(layer not in truth and layer in one.layers
                    for one, truth in units)
        quiet = len(units) - hit - miss - false
        table[layer] = {"tpr": proportion(hit, hit + miss),
                        "fpr": proportion(false, false + quiet),
                        "ppv": proportion(hit, hit + false)}
    return table


def truth_layers(run, one):
    if one.label != "impact":
        return set()
    return {answer["layer"] for answer in run.truth["answers"]}


def confusion(runs):
    """Confusion matrix: (true layer, reported layer) -> windows."""
    table = {}
    for run in runs:
        if not run.valid:
            continue
        for one in judge_run(run):
            if one.label == "impact":
                layers = [answer["layer"] for answer in run.truth["answers"]]
                truth = one.top_layer if one.top_layer in layers else layers[0]
            elif one.label in HEALTHY_LABELS:
                truth = "healthy"
            else:
                continue
            key = truth, one.top_layer
            table[key] = table.get(key, 0) + 1
    return table


def miss_of(one):
    """What is wrong with a scored window, or None."""
    if one.label in HEALTHY_LABELS:
        return "alarm" if one.wrong else None
    if one.label != "impact":
        return None
    return None if one.top_module and one.named else \
        "cause" if not one.top_cause else \
        "module" if not one.top_module else "second cause"


def misses(runs):
    """Every miss with what was said instead, the same ones together."""
    table = {}
    for run in runs:
        for one in judge_run(run) if run.valid else []:
            what = miss_of(one)
            if what:
                place = f" at {one.accused}" if what == "module" else ""
                key = run.truth["scenario"], what, one.said + place
                table.setdefault(key, []).append(where_of(run, one))
    return [{"scenario": name, "what": what, "said": said,
             "windows": len(places), "where": places}
            for (name, what, said), places in sorted(
                table.items(), key=lambda item: (-len(item[1]), item[0]))]


def where_of(run, one):
    """Which look of which run; seconds from the fault, None if healthy."""
    known = one.window is not None
    after = one.window.begin - run.fault_at if known and run.is_fault else None
    return {"seed": run.truth["seed"], "look": one.window.look if known else 1,
            "after_s": after}


def groups_of(runs, key):
    groups = {}
    for run in runs:
        groups.setdefault(key(run.truth), []).append(run)
    return sorted(groups.items())


def score_way(runs):
    """All data of the reports about the runs of one way."""
    table = confusion(runs)
    return {
        "total": add_up(runs),
        "sets": {name: add_up(group) for name, group in
                 groups_of(runs, lambda truth: truth["set"])},
        "halves": {half: add_up([run for run in runs
                                 if half_of(run.truth["scenario"]) == half])
                   for half in ("tuning", "held-out")},
        "layers": per_layer(runs),
        "scenarios": {name: {"title": group[0].truth["title"],
                             "kind": group[0].truth["kind"],
                             "set": group[0].truth["set"],
                             "answers": group[0].truth["answers"],
                             "bite": bite_of(group), **add_up(group)}
                      for name, group in groups_of(
                          runs, lambda truth: truth["scenario"])},
        "confusion": [{"truth": truth, "said": said, "windows": count}
                      for (truth, said), count in sorted(table.items())],
        "misses": misses(runs),
        "invalid": [{"scenario": run.truth["scenario"],
                     "seed": run.truth["seed"],
                     "reason": (run.truth.get("impact") or {}).get("reason")
                     or "the run did not finish"}
                    for run in runs if not run.valid],
    }


def score(runs, not_measured=None):
    """The scores of each way, and why one has none."""
    ways = {way: score_way([run for run in runs if run.way == way])
            for way in WAYS if any(run.way == way for run in runs)}
    return {"schema": "nest.lab.accuracy/2", "ways": ways,
            "not_measured": {way: (not_measured or {}).get(way, "no runs")
                             for way in DEFAULT_WAYS if way not in ways}}


def bite_of(group):
    """Measured impact: the victim's value before and during the fault."""
    measured = [run.truth["impact"] for run in group
                if run.truth.get("impact") and run.is_fault]
    ratios = [one["after"] / one["before"] for one in measured
              if one.get("before") and one.get("after") is not None]
    return {"metric": measured[0]["metric"] if measured else None,
            "before": mean([one["before"] for one in measured
                            if one.get("before") is not None]),
            "after": mean([one["after"] for one in measured
                           if one.get("after") is not None]),
            "ratio": median(ratios)}
