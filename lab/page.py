# SPDX-License-Identifier: GPL-2.0-or-later
"""Scoring results as one self-contained HTML page without scripts or requests."""

import html

from look import WINDOWED
from report import (EARLY_MISSES, GROUP_COLUMNS, SCENARIO_COLUMNS, UNITS,
                    WAY_TITLES, any_of, bite_text, decimal, group_rows,
                    matrix_order, miss_rows,
                    right_answer, rows_of, scored, share_of_core,
                    summary_rows, unscored)

STYLE = """
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#5d6875;--line:#dfe4ea;
--paper:#fff;--card:#f6f8fa;--good:#1a7f4b;--fair:#b7791f;--bad:#c0392b;
--cell:26,115,232}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ee;--soft:#98a3b0;
--line:#30363d;--paper:#0f1318;--card:#171c23;--good:#3fb97a;--fair:#e0a93d;
--bad:#ef6a5b;--cell:88,156,255}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:1360px;margin:0 auto;padding:40px 24px 80px}
h1{font-size:28px;margin:0 0 4px}h2{font-size:19px;margin:44px 0 12px}
p{margin:6px 0;color:var(--soft);max-width:76ch}
.cards{display:grid;gap:12px;margin-top:24px;
grid-template-columns:repeat(auto-fit,minmax(270px,1fr))}
.card{background:var(--card);border:1px solid var(--line);border-radius:10px;
padding:14px 16px}
.card b{display:block;font-size:27px;font-variant-numeric:tabular-nums}
.card span{color:var(--soft);font-size:13px}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:13.5px;
font-variant-numeric:tabular-nums}
th{font-weight:600;color:var(--soft);text-align:right;padding:6px 8px;
border-bottom:1px solid var(--line);white-space:nowrap}
td{padding:5px 8px;border-bottom:1px solid var(--line);text-align:right;
white-space:nowrap}
th.l,td.l{text-align:left}td.w{white-space:normal;min-width:200px}
.tight td,.tight th{padding:5px 5px;font-size:12.5px}
.tight .mono{white-space:normal}
.tight .first{border-left:1px solid var(--line);padding-left:10px}
tr.group td{padding-top:18px;font-weight:600;color:var(--soft);
text-align:left}
.good{color:var(--good)}.fair{color:var(--fair)}.bad{color:var(--bad)}
.mono{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:12.5px}
svg{display:block;max-width:100%;height:auto}
svg text{fill:var(--ink);font:12px system-ui,sans-serif}
svg .soft{fill:var(--soft)}svg .axis{stroke:var(--line)}
.matrix td{text-align:center;border:1px solid var(--paper);min-width:38px}
.matrix th{border:0}.matrix th.v{writing-mode:vertical-rl;
transform:rotate(180deg);text-align:left;padding:4px}
"""


def esc(value):
    return html.escape(str(value))


def grade(share, good_is_high=True):
    if share is None:
        return ""
    value = share if good_is_high else 1 - share
    return "good" if value >= 0.9 else "fair" if value >= 0.6 else "bad"


def cell(value, good_is_high=True):
    if value["share"] is None:
        return "<td></td>"
    title = (f"{value['right']} of {value['total']}, 95 % interval "
             f"{100 * value['low']:.0f}–{100 * value['high']:.0f} %")
    return (f'<td class="{grade(value["share"], good_is_high)}" '
            f'title="{title}">{100 * value["share"]:.0f}</td>')


def card(label, value, note=""):
    return (f'<div class="card"><span>{esc(label)}</span><b>{esc(value)}</b>'
            f"<span>{esc(note)}</span></div>")


def percent_card(label, value):
    if value["share"] is None:
        return card(label, "–", "nothing to count")
    return card(label, f"{100 * value['share']:.1f} %",
                f"{100 * value['low']:.0f}–{100 * value['high']:.0f} % · "
                f"{value['right']} of {value['total']}")


def cards(total, unit):
    parts = [percent_card("Right cause first", total["top_cause"]),
             percent_card("Right module first", total["top_module"]),
             percent_card("Culprit named (TPR)", total["tpr"]),
             percent_card("Findings that are right (PPV)", total["ppv"]),
             percent_card(f"Healthy {unit} with an alarm (FPR)", total["fpr"]),
             percent_card("An innocent of the list blamed",
                          total["forbidden"]),
             card("Verdict after", decimal(total["first_right_s"]) + " s",
                  "median of the right ones"),
             card("CPU of a look, of one core", share_of_core(total["cpu"]),
                  f"median and p95 of {total['cpu']['programs']} looks")]
    return f'<div class="cards">{"".join(parts)}</div>'


def bar(x, y, value, label):
    """A proportion with its confidence interval as a whisker."""
    width, colour = 220, {"good": "--good", "fair": "--fair", "bad": "--bad",
                          "": "--soft"}[grade(value["share"])]
    if value["share"] is None:
        return f'<text class="soft" x="{x}" y="{y + 13}">–</text>'
    full = width * value["share"]
    low, high = x + width * value["low"], x + width * value["high"]
    return (f'<rect x="{x}" y="{y + 2}" width="{full:.1f}" height="14" rx="3" '
            f'style="fill:var({colour});opacity:.75"/>'
            f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{y + 9}" y2="{y + 9}" '
            f'style="stroke:var(--ink);stroke-width:1.5"/>'
            f'<text class="soft" x="{x + width + 8}" y="{y + 13}">'
            f"{100 * value['share']:.0f} %</text>"
            f"<title>{esc(label)}: {value['right']} of {value['total']}"
            "</title>")


def layer_chart(layers):
    rows, y = [], 26
    for name, row in layers.items():
        rows.append(f'<text x="0" y="{y + 13}">{esc(name)}</text>')
        rows.append(f"<g>{bar(110, y, row['tpr'], name + ' TPR')}</g>")
        rows.append(f"<g>{bar(400, y, row['ppv'], name + ' PPV')}</g>")
        false = row["fpr"]
        text = "–" if false["share"] is None else \
            f"{100 * false['share']:.1f} %"
        rows.append(f'<text x="700" y="{y + 13}">{text}</text>')
        y += 24
    head = ('<text class="soft" x="110" y="14">found when guilty (TPR)</text>'
            '<text class="soft" x="400" y="14">guilty when blamed (PPV)</text>'
            '<text class="soft" x="700" y="14">blamed when innocent (FPR)'
            "</text>")
    return (f'<svg viewBox="0 0 880 {y + 4}" role="img" '
            f'aria-label="accuracy of each layer">{head}{"".join(rows)}</svg>')


def matrix(confusion):
    cells = {(one["truth"], one["said"]): one["windows"] for one in confusion}
    truths = matrix_order({truth for truth, _ in cells})
    said = matrix_order({name for _, name in cells})
    head = "".join(f'<th class="v">{esc(name)}</th>' for name in said)
    body = []
    for truth in truths:
        total = sum(cells.get((truth, name), 0) for name in said)
        row = "".join(matrix_cell(cells.get((truth, name), 0), total,
                                  agrees(truth, name)) for name in said)
        body.append(f'<tr><th class="l">{esc(truth)}</th>{row}</tr>')
    return (f'<div class="scroll"><table class="matrix" style="width:auto">'
            f"<tr><th></th>{head}</tr>{''.join(body)}</table></div>")


def agrees(truth, said):
    return truth == said or (truth == "healthy" and said == "nothing")


def matrix_cell(count, total, right):
    if not count:
        return "<td></td>"
    share = count / total
    colour = "var(--cell)" if right else "214,69,57"
    return (f'<td style="background:rgba({colour},{0.12 + 0.6 * share:.2f})" '
            f'title="{100 * share:.0f} %">{count}</td>')


HEADS = {"fault": "Faults", "extra": "More faults", "compound":
         "Two faults at once", "paper": "The paper's experiment",
         "healthy": "Healthy: every alarm is false"}


def scenario_rows(result):
    rows, last, ways = [], None, list(result["ways"])
    columns = 4 + len(ways) * (1 + len(SCENARIO_COLUMNS))
    for name, of_way in rows_of(result):
        row = any_of(of_way)
        if row["kind"] != last:
            last = row["kind"]
            rows.append(f'<tr class="group"><td colspan="{columns}">'
                        f"{esc(HEADS[last])}</td></tr>")
        rows.append(
            f'<tr><td class="l">{esc(name)}</td>'
            f'<td class="l w">{esc(row["title"])}</td>'
            f'<td class="l mono">{esc(right_answer(row))}</td>'
            f'<td>{esc(bite_text(row))}</td>'
            + "".join(way_cells(of_way.get(way)) for way in ways) + "</tr>")
    return "".join(rows)


def way_cells(row):
    """How many were scored, then the figures; empty if there was no run."""
    if row is None:
        return '<td class="first"></td>' + "<td></td>" * len(SCENARIO_COLUMNS)
    note = f"{row['runs']} runs, {row['invalid']} not scored"
    return f'<td class="first" title="{note}">{scored(row)}</td>' + "".join(
        cell(row[key], key != "fpr")
        for _, key in SCENARIO_COLUMNS)


def scenario_table(result):
    over = "".join(f'<th class="first l" colspan="{1 + len(SCENARIO_COLUMNS)}">'
                   f"{esc(WAY_TITLES[way])}</th>" for way in result["ways"])
    heads = "".join(f'<th class="first">{UNITS[way]}</th>' + "".join(
        f"<th>{title}</th>" for title, _ in SCENARIO_COLUMNS)
        for way in result["ways"])
    return ('<div class="scroll"><table class="tight"><tr><th colspan="4"></th>'
            f'{over}</tr><tr><th class="l">id</th><th class="l">scenario</th>'
            f'<th class="l">right answer</th><th>impact</th>{heads}</tr>'
            f"{scenario_rows(result)}</table></div>")


def text_table(heads, rows):
    """A table of plain texts, all left-aligned."""
    lines = ["".join(f'<th class="l">{esc(head)}</th>' for head in heads)]
    lines += ["".join(f'<td class="l">{esc(text)}</td>' for text in row)
              for row in rows]
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f'<div class="scroll"><table>{body}</table></div>'


def way_table(result):
    heads = [f"{WAY_TITLES[way]} ({UNITS[way]})" for way in result["ways"]]
    missing = "".join(f"<p>{esc(WAY_TITLES[way])}: not measured: {esc(why)}</p>"
                      for way, why in result["not_measured"].items())
    return text_table(["", *heads], summary_rows(result)) + missing


def group_table(result):
    heads = ["way", "set", "kinds", *(title for title, _ in GROUP_COLUMNS)]
    return text_table(heads, group_rows(result))


def triple(values):
    return "".join(f"<td>{value:.1f}</td>" for value in values) \
        if values else "<td>–</td>" * 3


def paper_rows(rows):
    parts = []
    for row in rows.values():
        own = [row[key] for key in ("tpr", "fpr", "ppv")]
        shown = "".join(
            "<td>–</td>" if one["share"] is None else
            f'<td title="{one["right"]} of {one["total"]}">'
            f'<b>{100 * one["share"]:.1f}</b></td>' for one in own)
        parts.append(f'<tr><td class="l">{esc(row["fault"])}</td>{shown}'
                     f'{triple(row["paper"])}{triple(row["thesis"])}</tr>')
    return "".join(parts)


def paper_table(rows):
    if not rows:
        return "<p>No run of the paper's experiment is in this set.</p>"
    heads = "<th>TPR</th><th>FPR</th><th>PPV</th>" * 3
    return ('<div class="scroll"><table><tr><th></th><th colspan="3">here</th>'
            '<th colspan="3">NeST paper</th><th colspan="3">dissertation</th>'
            f'</tr><tr><th class="l">fault, %</th>{heads}</tr>'
            f"{paper_rows(rows)}</table></div>")


def list_of(items):
    return "<ul>" + "".join(f"<li>{esc(item)}</li>" for item in items) + "</ul>"


def misses(way, figures):
    if not figures["misses"]:
        return ""
    heads, *rows = miss_rows(way, figures,
                             EARLY_MISSES if way in WINDOWED else None)
    return f"<h2>Misses: {esc(WAY_TITLES[way])}</h2>" + text_table(heads, rows)


def way_details(way, figures):
    return (f"<h2>By layer: {esc(WAY_TITLES[way])}</h2>"
            f"{layer_chart(figures['layers'])}"
            f"<h2>Blamed first: {esc(WAY_TITLES[way])}</h2><p>Rows are the "
            "truth, columns the layer of the first finding, cells "
            f"{UNITS[way]}. Blue is right, red is wrong.</p>"
            f"{matrix(figures['confusion'])}")


def first_cards(result):
    """The figures of the first measured way: late, where there is one."""
    for way, figures in result["ways"].items():
        return (f"<h2>{HEADLINES[way]}</h2>"
                + cards(figures["total"], UNITS[way]))
    return "<p>Nothing was measured.</p>"


HEADLINES = {
    "late": "A look of 3 s that begins after the fault, without a past",
    "past": "A look of 3 s that begins after the fault, with a recording of the "
            "time before",
    "early": "A look that began before the fault, window by window",
    "both": "Recordings of both ends, from before the fault, window by window"}


def render(result):
    verdict = result["verdict"] or "recorded runs"
    details = "".join(way_details(way, figures)
                      for way, figures in result["ways"].items())
    missed = "".join(misses(way, figures)
                     for way, figures in result["ways"].items())
    rest = unscored(result)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>nest: accuracy</title><style>{STYLE}</style></head>"
        "<body><main><h1>How often is nest right?</h1>"
        "<p>Every scenario is a real network in which one thing goes wrong at a "
        "known moment. The diagnosis sees one host of it. A fault without impact "
        "is not counted, silence is a miss, and every alarm on a healthy host is "
        f'a false one. Under test: <span class="mono">{esc(verdict)}'
        f"</span></p>{first_cards(result)}"
        "<h2>Three ways of looking</h2><p><i>late</i>: looks of 3 s that begin 2 "
        "to 20 s after the fault; the last verdict of each look is scored. "
        "<i>late with a past</i>: the same, with a recording that began before "
        "the fault. <i>early</i>: one look from before the fault to the end; "
        "each window is scored. In brackets: Wilson's 95 % interval.</p>"
        f"{way_table(result)}<h2>Sets of scenarios</h2>{group_table(result)}"
        f"{missed}<h2>By scenario</h2><p>In percent: right cause first, right "
        "module first, culprit named (TPR), healthy with an alarm (FPR). "
        "<i>impact</i>: what the fault left of the victim's work, measured without "
        "nest.</p>"
        f"{scenario_table(result)}{details}"
        "<h2>The published experiment, repeated (early)</h2>"
        "<p>100 Mbit/s, 40 ms RTT, wget-like and iperf-like applications, "
        f"three faults.</p>{paper_table(result['paper'])}"
        + (f"<h2>Not scored</h2>{list_of(rest)}" if rest else "")
        + "</main></body></html>\n")
