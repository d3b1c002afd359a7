# SPDX-License-Identifier: GPL-2.0-or-later
"""Scoring results as text for a terminal."""

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


def scenario_table(result):
    rows = [["id", "right answer", "runs", "invalid", "bite", "windows",
             "module", "cause", "TPR", "FPR", "PPV", "forbidden", "first s"]]
    ordered = sorted(result["scenarios"].items(),
                     key=lambda item: (KIND_ORDER.index(item[1]["kind"]),
                                       item[0]))
    for name, row in ordered:
        causes = " + ".join(answer["causes"][0] for answer in row["answers"])
        rows.append([name, causes or "(healthy)", str(row["runs"]),
                     str(row["invalid"]), bite_text(row), str(row["windows"]),
                     percent(row["top_module"]), percent(row["top_cause"]),
                     percent(row["tpr"]), percent(row["fpr"]),
                     percent(row["ppv"]), percent(row["forbidden"]),
                     decimal(row["first_right_s"])])
    return layout(rows, 2)


def layer_table(result):
    rows = [["layer", "TPR", "FPR", "PPV"]]
    for name, row in result["layers"].items():
        rows.append([name] + [interval(row[key])
                              for key in ("tpr", "fpr", "ppv")])
    return layout(rows)


def confusion_table(result):
    cells = {(one["truth"], one["said"]): one["windows"]
             for one in result["confusion"]}
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


def total_lines(result):
    total = result["total"]
    lines = [
        f"runs                          {total['runs']}"
        f" ({total['invalid']} not scored, see below)",
        f"top-1 module                  {interval(total['top_module'])}",
        f"top-1 cause                   {interval(total['top_cause'])}",
        f"culprit named (TPR)           {interval(total['tpr'])}",
        f"healthy windows alarmed (FPR) {interval(total['fpr'])}",
        f"findings that were right (PPV) {interval(total['ppv'])}",
        f"an innocent on the list blamed {interval(total['forbidden'])}",
        f"truth within the ambiguous set {interval(total['set_has_truth'])},"
        f" mean size {decimal(total['mean_set_size'], 2)}",
        f"runs with the culprit found   {interval(total['found_runs'])}",
        f"first right verdict after     {decimal(total['first_right_s'])} s"
        " (median)",
        f"false alarms per healthy hour {decimal(total['alarms_per_hour'])}"
        f" ({total['false_alarms']} in {total['healthy_hours']:.3f} h)",
        f"alarms while recovering       {interval(total['recovery_alarms'])}",
        f"CPU of the diagnosis          "
        f"{decimal(total['verdict_cpu'] and 100 * total['verdict_cpu'])} %",
    ]
    if total["failed"] or total["garbage"]:
        lines.append(f"the diagnosis failed in {total['failed']} runs and "
                     f"printed {total['garbage']} lines that are no window")
    for half, row in result["halves"].items():
        lines.append(f"top-1 cause, {half + ' half':16} "
                     f"{interval(row['top_cause'])}")
    return lines


def render(result):
    parts = [("Scenarios (%, windows of the impact period)",
              scenario_table(result)),
             ("Layers", layer_table(result)),
             ("Which layer was blamed first (windows)",
              confusion_table(result)),
             ("The paper's experiment", paper_table(result["paper"])),
             ("Together", total_lines(result))]
    if result["mistakes"]:
        parts.append(("Most frequent mistakes", [
            f"{one['scenario']:5} {one['when']:8} {one['said']:24} "
            f"{one['windows']} windows" for one in result["mistakes"][:12]]))
    if result["invalid"] or result["broken"]:
        lines = [f"{one['scenario']} seed {one['seed']}: {one['reason']}"
                 for one in result["invalid"]]
        lines += [f"{one['run']}: {one['reason']}" for one in result["broken"]]
        parts.append(("Not scored", lines))
    blocks = []
    for title, lines in parts:
        blocks.append(title + "\n" + "-" * len(title) + "\n"
                      + "\n".join(lines) + "\n")
    return "\n".join(blocks)
