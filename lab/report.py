# SPDX-License-Identifier: GPL-2.0-or-later
"""Scoring results as text for a terminal, late looks first."""

from look import WINDOWED
from vocabulary import LAYERS

KIND_ORDER = ("fault", "extra", "compound", "paper", "healthy")


def percent(value):
    share = value["share"]
    return "-" if share is None else f"{100 * share:.0f}"


def interval(value):
    if value["share"] is None:
        return "-"
    return (f"{100 * value['share']:.1f} % [{100 * value['low']:.1f}, "
            f"{100 * value['high']:.1f}]  {value['right']}/{value['total']}")


def decimal(value, digits=1):
    return "-" if value is None else f"{value:.{digits}f}"


METRIC_NAMES = {"bytes": "throughput", "ops": "operations", "lat": "latency"}


def bite_text(row):
    """Effect of the fault on the victim's throughput or latency."""
    bite = row["bite"]
    metric, ratio = bite["metric"], bite["ratio"]
    if metric == "lat" and ratio is not None:
        return f"latency x{ratio:.1f}"
    if metric in ("bytes", "ops") and ratio is not None:
        return f"{METRIC_NAMES[metric]} {100 * ratio:.0f} %"
    if bite["after"] is not None:
        return f"{metric} +{bite['after']:.0f}"
    return "-"


def matrix_order(names):
    """Layers in vocabulary order, then all others."""
    return [name for name in LAYERS if name in names] + sorted(
        name for name in names if name not in LAYERS)


def layout(rows, left=1):
    """Columns sized to their content; the first ones left-aligned."""
    widths = [max(len(row[place]) for row in rows)
              for place in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [cell.ljust(width) if place < left else cell.rjust(width)
                 for place, (cell, width) in enumerate(zip(row, widths))]
        lines.append("  ".join(cells).rstrip())
    return lines


# What is scored in each way, and how it is called.
WAY_TITLES = {"late": "late", "past": "late with a past", "early": "early",
              "both": "both ends"}
WAY_HEADS = {"late": "late:", "past": "past:", "early": "early:",
             "both": "both:"}
UNITS = {"late": "looks", "past": "looks", "early": "windows",
         "both": "windows"}


def rows_of(result):
    """(scenario, its row of each way), in the order of the tables."""
    rows = {}
    for way, figures in result["ways"].items():
        for name, row in figures["scenarios"].items():
            rows.setdefault(name, {})[way] = row
    return sorted(rows.items(), key=lambda item: (
        KIND_ORDER.index(any_of(item[1])["kind"]), item[0]))


def any_of(ways):
    return next(iter(ways.values()))


def right_answer(row):
    return " + ".join(answer["causes"][0] for answer in row["answers"]) \
        or "(healthy)"


# Of each way; there is more in accuracy.json.
SCENARIO_COLUMNS = (("cause", "top_cause"), ("module", "top_module"),
                    ("TPR", "tpr"), ("FPR", "fpr"))


def scenario_table(result):
    ways = list(result["ways"])
    over, heads = ["", "", ""], ["id", "right answer", "impact"]
    for way in ways:
        over += [WAY_HEADS[way], *[""] * len(SCENARIO_COLUMNS)]
        heads += [UNITS[way], *(title for title, _ in SCENARIO_COLUMNS)]
    rows = [over, heads]
    for name, of_way in rows_of(result):
        row = any_of(of_way)
        rows.append([name, right_answer(row), bite_text(row)])
        for way in ways:
            rows[-1] += way_cells(of_way.get(way))
    return layout(rows, 2)


def scored(row):
    """How many windows or looks the figures of a scenario rest on."""
    return row["windows"] if row["answers"] else row["healthy_windows"]


def way_cells(row):
    if row is None:
        return ["-"] * (1 + len(SCENARIO_COLUMNS))
    return [str(scored(row)), *(percent(row[key]) for _, key in SCENARIO_COLUMNS)]


def layer_table(figures):
    rows = [["layer", "TPR", "FPR", "PPV"]]
    for name, row in figures["layers"].items():
        rows.append([name] + [interval(row[key])
                              for key in ("tpr", "fpr", "ppv")])
    return layout(rows)


def confusion_table(figures):
    cells = {(one["truth"], one["said"]): one["windows"]
             for one in figures["confusion"]}
    truths = matrix_order({truth for truth, _ in cells})
    said = matrix_order({name for _, name in cells})
    rows = [["truth \\ said first", *said]]
    for truth in truths:
        rows.append([truth, *(str(cells.get((truth, name), "."))
                              for name in said)])
    return layout(rows) if cells else ["(nothing was said)"]


def paper_table(rows):
    if not rows:
        return ["(no run of the paper's experiment in this set)"]
    lines = [["fault", "", "TPR %", "FPR %", "PPV %"]]
    for row in rows.values():
        lines.append([row["fault"], "here"]
                     + [interval(row[key]) for key in ("tpr", "fpr", "ppv")])
        for name in ("paper", "thesis"):
            if row[name]:
                label = "paper" if name == "paper" else "dissertation"
                lines.append(["", label] + [f"{value:.1f}"
                                            for value in row[name]])
    return layout(lines, 2)


def share_of_core(cpu):
    if cpu["median"] is None:
        return "-"
    return f"{100 * cpu['median']:.1f} %, {100 * cpu['p95']:.1f} %"


def alarms_text(total):
    return (f"{decimal(total['alarms_per_hour'])} ({total['false_alarms']} in "
            f"{60 * total['healthy_hours']:.1f} min)")


# Name and text of each figure; a tuple of ways limits it to them.
SUMMARY = (
    ("runs (not scored)", lambda total: f"{total['runs']} ({total['invalid']})"),
    ("kinds (scenarios)", lambda total: str(total["kinds"])),
    ("scored in impact", lambda total: str(total["windows"])),
    ("top-1 cause", lambda total: interval(total["top_cause"])),
    ("top-1 module", lambda total: interval(total["top_module"])),
    ("culprit named (TPR)", lambda total: interval(total["tpr"])),
    ("findings that were right (PPV)", lambda total: interval(total["ppv"])),
    ("innocent of the list blamed", lambda total: interval(total["forbidden"])),
    ("truth within the ambiguous set", lambda total:
     f"{interval(total['set_has_truth'])}, mean size "
     f"{decimal(total['mean_set_size'], 2)}"),
    ("ambiguous between path, peer and own host", lambda total:
     interval(total["mixed_sides"])),
    ("healthy, alarmed (FPR)", lambda total: interval(total["fpr"])),
    ("healthy kinds", lambda total: str(total["healthy_kinds"])),
    ("false alarms per healthy hour", alarms_text, ("early", "both")),
    ("alarms while recovering", lambda total:
     interval(total["recovery_alarms"])),
    ("outside of the impact, not scored", lambda total: str(total["outside"])),
    ("runs with the culprit found", lambda total: interval(total["found_runs"])),
    ("right verdict after (median)", lambda total:
     f"{decimal(total['first_right_s'])} s"),
    ("baseline of a look (median)", lambda total:
     "-" if total["baseline_s"] is None else f"{total['baseline_s']:.0f} s",
     ("late", "past")),
    ("CPU of a look: median, p95", lambda total: share_of_core(total["cpu"])),
    ("CPU of the recorder", lambda total: share_of_core(total["recorder_cpu"]),
     ("past",)),
    ("looks without a verdict, failed", lambda total:
     f"{total['silent']}, {total['failed']}"),
    ("lines that are no window", lambda total: str(total["garbage"])),
)


def summary_rows(result):
    """[name, text of each way] of each figure."""
    rows = []
    for name, text, *ways in SUMMARY:
        rows.append([name] + [
            text(figures["total"]) if not ways or way in ways[0] else "-"
            for way, figures in result["ways"].items()])
        if rows[-1][1:] == ["-"] * len(result["ways"]):
            rows.pop()
    return rows


def summary_table(result):
    lines = []
    if result["ways"]:
        heads = [f"{WAY_TITLES[way]} ({UNITS[way]})" for way in result["ways"]]
        lines = layout([["", *heads], *summary_rows(result)],
                       1 + len(result["ways"]))
    return lines + [f"{WAY_TITLES[way]}: not measured: {why}"
                    for way, why in result["not_measured"].items()]


GROUP_COLUMNS = (("top-1 cause", "top_cause"), ("top-1 module", "top_module"),
                 ("named", "tpr"), ("healthy alarmed", "fpr"))


def group_rows(result):
    """[way, group, kinds, figures] of the sets and halves of scenarios."""
    for way, figures in result["ways"].items():
        for kind, suffix in (("sets", ""), ("halves", " half")):
            for name, row in figures[kind].items():
                yield [way, name + suffix, str(row["kinds"])] + [
                    interval(row[key]) for _, key in GROUP_COLUMNS]


def group_table(result):
    rows = [["way", "set", "kinds", *(title for title, _ in GROUP_COLUMNS)]]
    return layout(rows + list(group_rows(result)), 2)


# Windows of an early look repeat a miss; late ones are listed in full.
EARLY_MISSES = 15


def place_text(place):
    after = place["after_s"]
    late = "" if after is None else f" ({after:.0f} s)"
    return f"{place['seed']}.{place['look']}{late}"


def miss_rows(way, figures, limit):
    """A table of the misses of a way, the most frequent first."""
    yield ["id", "right answer", "miss", "reported", UNITS[way]] + (
        ["seed.look (seconds after the fault)"] if way not in WINDOWED else [])
    for one in figures["misses"][:limit]:
        row = [one["scenario"], right_answer(figures["scenarios"][
            one["scenario"]]), one["what"], one["said"], str(one["windows"])]
        if way not in WINDOWED:
            places = [place_text(place) for place in one["where"][:6]]
            more = len(one["where"]) - len(places)
            row.append(", ".join(places) + (f", {more} more" if more else ""))
        yield row


def unscored(result):
    lines = [f"{way}: {one['scenario']} seed {one['seed']}: {one['reason']}"
             for way, figures in result["ways"].items()
             for one in figures["invalid"]]
    return lines + [f"{one['run']}: {one['reason']}"
                    for one in result["broken"]]


def parts_of(result):
    """(title, lines) of each part of the report."""
    ways = result["ways"]
    if ways:
        yield "Scenarios (%)", scenario_table(result)
    for way, figures in ways.items():
        title = WAY_TITLES[way]
        yield f"Layers: {title}", layer_table(figures)
        yield (f"Layer blamed first: {title} ({UNITS[way]})",
               confusion_table(figures))
    if "early" in ways:
        yield "The paper's experiment", paper_table(result["paper"])
    if ways:
        yield "Sets of scenarios", group_table(result)
    yield "Together", summary_table(result)
    for way, figures in ways.items():
        if figures["misses"]:
            yield (f"Misses: {WAY_TITLES[way]}", layout(list(miss_rows(
                way, figures, EARLY_MISSES if way in WINDOWED else None)), 6))
    if unscored(result):
        yield "Not scored", unscored(result)


def render(result):
    return "\n".join(title + "\n" + "-" * len(title) + "\n"
                     + "\n".join(lines) + "\n"
                     for title, lines in parts_of(result))
