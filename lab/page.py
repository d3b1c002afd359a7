# SPDX-License-Identifier: GPL-2.0-or-later
"""Scoring results as one self-contained HTML page without scripts or requests."""

import html

from report import KIND_ORDER, bite_text, decimal, matrix_order

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
main{max-width:1180px;margin:0 auto;padding:40px 24px 80px}
h1{font-size:28px;margin:0 0 4px}h2{font-size:19px;margin:44px 0 12px}
p{margin:6px 0;color:var(--soft);max-width:76ch}
.cards{display:grid;gap:12px;margin-top:24px;
grid-template-columns:repeat(auto-fit,minmax(240px,1fr))}
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
th.l,td.l{text-align:left}td.w{white-space:normal;min-width:230px}
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
        return "<td>–</td>"
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


def cards(total):
    parts = [percent_card("The first suspect is the culprit's module",
                          total["top_module"]),
             percent_card("The first suspect's cause is right",
                          total["top_cause"]),
             percent_card("The culprit is named (TPR)", total["tpr"]),
             percent_card("Findings that are right (PPV)", total["ppv"]),
             percent_card("Healthy windows with an alarm (FPR)", total["fpr"]),
             card("False alarms per healthy hour",
                  decimal(total["alarms_per_hour"]),
                  f"{total['false_alarms']} in "
                  f"{60 * total['healthy_hours']:.1f} minutes"),
             card("First right verdict after",
                  decimal(total["first_right_s"]) + " s",
                  f"median of {total['found_runs']['right']} runs"),
             card("Runs", total["runs"],
                  f"{total['invalid']} not scored: the fault did not bite")]
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
    rows, last = [], None
    for name, row in sorted(result["scenarios"].items(), key=lambda item: (
            KIND_ORDER.index(item[1]["kind"]), item[0])):
        if row["kind"] != last:
            last = row["kind"]
            rows.append(f'<tr class="group"><td colspan="12">'
                        f"{esc(HEADS[last])}</td></tr>")
        causes = " + ".join(answer["causes"][0] for answer in row["answers"])
        rows.append(
            f'<tr><td class="l">{esc(name)}</td>'
            f'<td class="l w">{esc(row["title"])}</td>'
            f'<td class="l mono">{esc(causes or "–")}</td>'
            f'<td>{row["runs"] - row["invalid"]}/{row["runs"]}</td>'
            f'<td>{esc(bite_text(row))}</td>'
            + cell(row["top_module"]) + cell(row["top_cause"])
            + cell(row["tpr"]) + cell(row["fpr"], False) + cell(row["ppv"])
            + cell(row["forbidden"], False)
            + f'<td>{decimal(row["first_right_s"])}</td></tr>')
    return "".join(rows)


def scenario_table(result):
    names = ("module", "cause", "TPR", "FPR", "PPV", "forbidden", "first, s")
    heads = "".join(f"<th>{name}</th>" for name in names)
    return ('<div class="scroll"><table><tr><th class="l">id</th>'
            '<th class="l">scenario</th><th class="l">right answer</th>'
            f"<th>valid</th><th>bite</th>{heads}</tr>"
            f"{scenario_rows(result)}</table></div>")


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


def remarks(result):
    parts = []
    if result["mistakes"]:
        parts.append("<h2>Most frequent mistakes</h2>" + list_of(
            f"{one['scenario']} ({one['when']}): {one['said']}, "
            f"{one['windows']} windows" for one in result["mistakes"][:15]))
    unscored = [f"{one['scenario']} seed {one['seed']}: {one['reason']}"
                for one in result["invalid"]]
    unscored += [f"{one['run']}: {one['reason']}" for one in result["broken"]]
    if unscored:
        parts.append("<h2>Not scored</h2>" + list_of(unscored))
    return "".join(parts)


def render(result):
    verdict = result["verdict"] or "recorded runs"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>nest: accuracy</title><style>{STYLE}</style></head>"
        "<body><main><h1>How often is nest right?</h1>"
        "<p>Every scenario is a real network in which one thing goes wrong at a "
        "known moment. The diagnosis sees one host of it. A fault that did not "
        "hurt is not counted, silence is a miss, and every alarm while all is "
        f'well is a false one. Under test: <span class="mono">{esc(verdict)}'
        f"</span></p>{cards(result['total'])}"
        f"<h2>By layer</h2>{layer_chart(result['layers'])}"
        "<h2>Who was blamed first</h2><p>Rows are the truth, columns the first "
        "suspect, cells windows. Blue is right, red is wrong.</p>"
        f"{matrix(result['confusion'])}"
        "<h2>The published experiment, repeated</h2>"
        "<p>100 Mbit/s, 40 ms RTT, wget-like and iperf-like applications, "
        "three faults.</p>" + paper_table(result["paper"]) +
        "<h2>By scenario</h2><p>In percent of the windows in the impact period. "
        "<i>bite</i>: what the fault left of the victim's work, measured without "
        "nest. <i>forbidden</i>: an innocent on the scenario's list was blamed."
        f"</p>{scenario_table(result)}{remarks(result)}"
        "</main></body></html>\n")
