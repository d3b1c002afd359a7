# SPDX-License-Identifier: GPL-2.0-or-later
"""The paper's experiment repeated: results side by side.

The paper (NeST, certainty factors) and the dissertation (FlowDiagnoser, crisp
rules) inject three faults and give TPR, FPR and PPV per kind of module. Our
scenarios of kind "paper" name the fault they repeat.
"""

import scoring

PUBLISHED = {
    "application": {"fault": "the application is paused",
                    "paper": (99.4, 0.2, 99.6), "thesis": None},
    "tcp": {"fault": "one 5-tuple dropped at the router",
            "paper": (93.4, 2.9, 44.7), "thesis": (93.4, 2.2, 50.8)},
    "network": {"fault": "the host's traffic dropped at the router",
                "paper": (98.8, 5.9, 58.2), "thesis": (100.0, 5.4, 60.2)},
}
CAUSES = {
    "application": ("app-not-reading", "app-not-sending"),
    "tcp": ("path-blackhole",),
    "network": ("path-outage",),
}


def blamed(run, window, kind):
    """Whether this window blames a module of this kind, rightly or wrongly."""
    answers = run.truth["answers"] if window.label == "impact" else []
    own = run.truth["paper"] == kind and window.label == "impact"
    for finding in window.blames:
        answer = scoring.answer_of(finding, answers)
        if own and answer is not None:
            return True
        if not own and answer is None and finding.get("cause") in CAUSES[kind]:
            return True
    return False


def table(runs):
    """One row per fault of the paper; None without paper runs.

    The paper's diagnosis watches all the time: these are early looks.
    """
    runs = [run for run in runs if run.truth["kind"] == "paper" and run.valid
            and run.way == "early"]
    if not runs:
        return None
    rows = {}
    for kind, published in PUBLISHED.items():
        hit = miss = false = quiet = 0
        for run in runs:
            if run.truth["paper"] == kind:
                miss += scoring.silent_seconds(run)
            for window in run.windows:
                if window.label not in ("impact", "before", "healthy"):
                    continue
                positive = run.truth["paper"] == kind and \
                    window.label == "impact"
                said = blamed(run, window, kind)
                hit += positive and said
                miss += positive and not said
                false += said and not positive
                quiet += not said and not positive
        rows[kind] = {**published,
                      "tpr": scoring.proportion(hit, hit + miss),
                      "fpr": scoring.proportion(false, false + quiet),
                      "ppv": scoring.proportion(hit, hit + false)}
    return rows
