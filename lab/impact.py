# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether and when the fault took effect, judged from the applications alone.

Every application prints a progress line every 100 ms. The victim's rate (or
latency, or errors) before the fault is compared with one-second windows after
it, without nest: a run whose fault had no effect is invalid and is never scored.
A fault that stands before the applications start has no before: the scenario
gives the normal value.
"""

import bisect
import json

BASE_SECONDS = 1.5
WINDOW = 1.0
DEFAULT_WITHIN = 3.0


class Progress:
    """Progress lines of one application as functions of time."""

    def __init__(self, samples):
        self.samples = samples
        self.times = [sample["t_ns"] / 1e9 for sample in samples]

    @classmethod
    def read(cls, path):
        samples = []
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                for line in file:
                    if not line.startswith("{") or not line.endswith("}\n"):
                        continue
                    sample = json.loads(line)
                    if "t_ns" in sample:
                        samples.append(sample)
        except FileNotFoundError:
            pass
        return cls(samples)

    def total(self, field, at):
        """Counter value at a time, interpolated between lines."""
        place = bisect.bisect_right(self.times, at)
        if place == 0:
            return 0.0
        value = self.samples[place - 1].get(field) or 0
        if place == len(self.samples):
            return float(value)
        begin, end = self.times[place - 1], self.times[place]
        after = self.samples[place].get(field) or 0
        share = (at - begin) / (end - begin) if end > begin else 0.0
        return value + (after - value) * share

    def latencies(self, begin, end):
        """Mean latency (us) of operations that ended in a window."""
        low = bisect.bisect_left(self.times, begin)
        high = bisect.bisect_right(self.times, end)
        return [sample["lat_us"] for sample in self.samples[low:high]
                if sample.get("lat_us") is not None]

    def last_line(self):
        return self.times[-1] if self.times else None


def rate(parts, field, begin, end):
    grown = sum(part.total(field, end) - part.total(field, begin)
                for part in parts)
    return grown / (end - begin)


def latency(parts, begin, end):
    values = [value for part in parts for value in part.latencies(begin, end)]
    return sum(values) / len(values) if values else None


def suffers(spec, parts, base, begin, end):
    """One window: (affected, measured value).

    Without a completed operation the latency is None, and the window counts
    like the previous one.
    """
    metric = spec["metric"]
    if metric == "lat":
        value = latency(parts, begin, end)
        return None if value is None else value > spec["above"] * base, value
    if metric == "errors":
        value = rate(parts, "errors", begin, end) * (end - begin)
        return value >= spec["at_least"], value
    value = rate(parts, metric, begin, end)
    return value < spec["below"] * base, value


def baseline(spec, parts, fault_at):
    if "normal" in spec:
        return spec["normal"]
    begin = fault_at - BASE_SECONDS
    if spec["metric"] == "lat":
        return latency(parts, begin, fault_at)
    if spec["metric"] == "errors":
        return rate(parts, "errors", begin, fault_at)
    return rate(parts, spec["metric"], begin, fault_at)


def label_windows(flags):
    """impact / recovery / quiet: an impact ends after two unaffected windows."""
    labels, seen = [], False
    for place, bad in enumerate(flags):
        if bad:
            labels.append("impact")
            seen = True
            continue
        around = flags[place + 1:place + 2]
        bridged = seen and labels[-1] == "impact" and any(around)
        labels.append("impact" if bridged else
                      "recovery" if seen else "quiet")
    return labels


def judge(spec, parts, fault_at, end_at, ended_at=None):
    """The verdict on one run: {"bites", "reason", "windows", ...}.

    After ended_at the fault is removed: a flow may still wait for a timer, but
    that is recovery, no longer impact.
    """
    base = baseline(spec, parts, fault_at)
    result = {"metric": spec["metric"], "before": base, "windows": [],
              "bites": False, "after": None}
    if spec["metric"] != "errors" and not base:
        return {**result, "reason": "no progress before the fault"}
    flags, begin = [], fault_at
    length = spec.get("window", WINDOW)
    while begin + length <= end_at + 0.01:
        bad, value = suffers(spec, parts, base, begin, begin + length)
        flags.append(bad if bad is not None else bool(flags and flags[-1]))
        result["windows"].append({"begin": begin, "end": begin + length,
                                  "value": value})
        begin += length
    if ended_at is not None:
        flags = [flag and window["begin"] < ended_at - 0.1
                 for flag, window in zip(flags, result["windows"])]
    for window, name in zip(result["windows"], label_windows(flags)):
        window["label"] = name
    return {**result, **summary(spec, flags, result["windows"])}


def summary(spec, flags, windows):
    bad = [window for window, flag in zip(windows, flags) if flag]
    values = [window["value"] for window in bad if window["value"] is not None]
    after = sum(values) / len(values) if values else None
    within = spec.get("within", DEFAULT_WITHIN)
    if len(bad) < 2:
        reason = f"only {len(bad)} of {len(flags)} windows affected"
    elif bad[0]["begin"] - windows[0]["begin"] > within:
        reason = f"no affected window within {within:g} s"
    else:
        reason = None
    return {"bites": reason is None, "reason": reason, "after": after}


def judge_counter(spec, before, after, fault_at, end_at):
    """A fault visible in a kernel counter only, such as skipped TIME-WAITs."""
    grown = after.get(spec["counter"], 0) - before.get(spec["counter"], 0)
    bites = grown >= spec["at_least"]
    reason = None if bites else (f"{spec['counter']} grew by {grown}, "
                                 f"not {spec['at_least']:g}")
    windows, begin = [], fault_at
    while begin + WINDOW <= end_at + 0.01:
        windows.append({"begin": begin, "end": begin + WINDOW,
                        "value": None, "label": "impact" if bites else "quiet"})
        begin += WINDOW
    return {"metric": "counter", "before": 0, "after": grown,
            "windows": windows, "bites": bites, "reason": reason}


def judge_progress(parts, begin, end):
    """A healthy run is valid if its applications make progress."""
    stuck = [name for name, part in parts.items()
             if rate([part], "bytes", begin, end) <= 0
             and rate([part], "ops", begin, end) <= 0]
    reason = f"no progress: {', '.join(stuck)}" if stuck else None
    return {"metric": "progress", "before": None, "after": None,
            "windows": [], "bites": not stuck, "reason": reason}
