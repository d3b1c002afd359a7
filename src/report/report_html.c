/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report as HTML: plots and tables, one file, no script, no external resources. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "report/report.h"
#include "view/format.h"
#include "view/svg.h"

static const char style[] =
	":root{color-scheme:light dark;--bg:#fff;--fg:#1a1d21;--dim:#667;--line:#d9dde3;--card:#f6f7f9;"
	"--s1:#2563eb;--s2:#d97706;--s3:#dc2626;--s4:#7c3aed}\n"
	"@media "
	"(prefers-color-scheme:dark){:root{--bg:#14171a;--fg:#e6e8ea;--dim:#9aa3ad;--line:#30363d;--card:#1c2126;"
	"--s1:#6ea8fe;--s2:#f0b35a;--s3:#f47174;--s4:#b69cf5}}\n"
	"body{background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,sans-serif;margin:0 auto;max-width:1080px;"
	"padding:24px}\n"
	"h1{font-size:22px;margin:0}h2{font-size:17px;margin:32px 0 8px}p.sub{color:var(--dim);margin:4px 0 0}\n"
	".card{background:var(--card);border-left:4px solid var(--s3);border-radius:6px;margin:10px 0;padding:10px "
	"14px}\n"
	".card.ok{border-color:#2f9e63}.card b{font-size:16px}.card .sub{color:var(--dim)}\n"
	".wide{overflow-x:auto}table{border-collapse:collapse;font-size:13px;width:100%}\n"
	"th{border-bottom:2px solid var(--line);color:var(--dim);font-weight:600;padding:4px 10px 4px "
	"0;text-align:left;"
	"white-space:nowrap}\n"
	"td{border-bottom:1px solid var(--line);padding:4px 10px 4px 0;vertical-align:top}\n"
	"td.n{font-variant-numeric:tabular-nums;text-align:right;white-space:nowrap}th.n{text-align:right}\n"
	"svg{display:block;height:auto;width:100%;margin:6px 0}\n"
	"svg .grid{stroke:var(--line);stroke-width:1}svg .axis{fill:var(--dim);font:11px system-ui,sans-serif}\n"
	"svg .barin{fill:#fff;font:12px system-ui,sans-serif}svg .bar{fill:var(--fg);font:12px "
	"system-ui,sans-serif}svg .line{fill:none;stroke-width:1.8}\n"
	"svg .line.s1{stroke:var(--s1)}svg .line.s2{stroke:var(--s2)}svg .line.s3{stroke:var(--s3)}\n"
	"svg .fill.s1{fill:var(--s1)}svg .fill.s2{fill:var(--s2)}svg .fill.s3{fill:var(--s3)}svg "
	".fill.s4{fill:var(--s4)}\n"
	"@media print{:root{--bg:#fff;--fg:#000;--dim:#444;--line:#bbb;--card:#f4f4f4}body{padding:0}"
	"h2,.card,svg{break-inside:avoid}h2{break-after:avoid}}\n";

static void add_text(struct buf *page, const char *text)
{
	text_add_html(page, text ?: "", strlen(text ?: ""));
}

static void add_value(struct buf *page, const struct field *field, const void *data)
{
	_cleanup_buf_ struct buf text = BUF_INIT(64 << 10);
	struct value value = value_get(field, data);

	/* Text goes to the page unchanged; format.h would escape it for a terminal. */
	if (value.class == VALUE_TEXT)
		text_add_html(page, value.text, value.len);
	else {
		format_add_value(&text, field, &value);
		add_text(page, buf_text(&text));
	}
}

static bool is_number(const struct field *field)
{
	return field->kind <= KIND_RATIO && field->kind != KIND_TIME;
}

/* --- tables --- */

static void add_heading(struct buf *page, const struct field *field)
{
	buf_add_format(page, "<th%s title=\"", is_number(field) ? " class=\"n\"" : "");
	add_text(page, field->help);
	buf_add_text(page, "\">");
	format_add_heading(page, field);
	buf_add_text(page, "</th>");
}

static void add_table(struct out *out, const char *heading, const struct record_type *type, const struct list *list)
{
	struct buf *page = &out->pending;

	if (list->count == 0)
		return;
	buf_add_format(page, "<h2>%s</h2>\n<div class=\"wide\"><table><thead><tr>", heading);
	for (uint32_t f = 0; f < type->field_count; f++)
		if (!type->fields[f].hidden)
			add_heading(page, &type->fields[f]);
	buf_add_text(page, "</tr></thead><tbody>");
	out_end_line(out);
	for (uint32_t i = 0; i < list->count; i++) {
		const char *data = (const char *)list->items + (size_t)i * type->size;

		buf_add_text(page, "<tr>");
		for (uint32_t f = 0; f < type->field_count; f++) {
			if (type->fields[f].hidden)
				continue;
			buf_add_text(page, is_number(&type->fields[f]) ? "<td class=\"n\">" : "<td>");
			add_value(page, &type->fields[f], data);
			buf_add_text(page, "</td>");
		}
		buf_add_text(page, "</tr>");
		out_end_line(out);
	}
	buf_add_text(page, "</tbody></table></div>");
	out_end_line(out);
}

/* --- findings --- */

static void add_card(struct buf *page, const struct report_stall *stall)
{
	buf_add_text(page, "<div class=\"card\"><b>");
	add_text(page, stall->cause);
	buf_add_text(page, "</b> ");
	add_text(page, stall->module);
	buf_add_format(page, " <span class=\"sub\">certainty %.2f, ", stall->certainty);
	add_value(page, &report_stall_type.fields[0], stall);
	buf_add_text(page, ", for ");
	add_value(page, &report_stall_type.fields[2], stall);
	buf_add_text(page, "</span><br>");
	add_text(page, stall->because);
	buf_add_text(page, "</div>\n");
}

static void add_findings(const struct report_record *report, struct out *out)
{
	const struct report_stall *stalls = report->stalls.items;

	buf_add_text(&out->pending, "<h2>Findings</h2>\n");
	if (report->stalls.count + report->oopses.count == 0)
		buf_add_text(&out->pending, "<div class=\"card ok\">No fault found.</div>\n");
	for (uint32_t i = 0; i < report->stalls.count; i++)
		add_card(&out->pending, &stalls[i]);
	out_end_line(out);
}

/* --- the timeline --- */

static unsigned colour_of(const char *layer)
{
	if (strcmp(layer, "path") == 0 || strcmp(layer, "peer") == 0)
		return 2;
	if (strcmp(layer, "application") == 0 || strcmp(layer, "host") == 0)
		return 4;
	return 3;
}

static void add_stall_bars(const struct report_record *report, const struct svg_times *times, struct out *out)
{
	const struct report_stall *stalls = report->stalls.items;
	struct svg_bar *bars = xzalloc((report->stalls.count + 1) * sizeof(*bars));
	char **labels = xzalloc((report->stalls.count + 1) * sizeof(*labels));

	for (uint32_t i = 0; i < report->stalls.count; i++) {
		labels[i] = xasprintf("%s %s", stalls[i].cause, stalls[i].module);
		bars[i] = (struct svg_bar){.begin_ns = stalls[i].begin_ns,
					   .end_ns = stalls[i].begin_ns + stalls[i].span_ns,
					   .label = labels[i],
					   .title = stalls[i].because ?: "",
					   .series = colour_of(stalls[i].layer ?: "")};
	}
	if (report->stalls.count)
		svg_add_bars(&out->pending, times, bars, report->stalls.count);
	for (uint32_t i = 0; i < report->stalls.count; i++)
		free(labels[i]);
	free(labels);
	free(bars);
}

struct columns {
	uint64_t *ns;
	double *tx, *rx, *retrans, *drops, *srtt;
};

static void take_columns(const struct report_record *report, struct columns *columns)
{
	const struct report_point *points = report->series.items;
	size_t n = report->series.count + 1;

	*columns = (struct columns){.ns = xzalloc(n * sizeof(uint64_t)),
				    .tx = xzalloc(n * sizeof(double)),
				    .rx = xzalloc(n * sizeof(double)),
				    .retrans = xzalloc(n * sizeof(double)),
				    .drops = xzalloc(n * sizeof(double)),
				    .srtt = xzalloc(n * sizeof(double))};
	for (uint32_t i = 0; i < report->series.count; i++) {
		columns->ns[i] = points[i].time_ns;
		columns->tx[i] = points[i].tx_rate;
		columns->rx[i] = points[i].rx_rate;
		columns->retrans[i] = points[i].retrans_rate;
		columns->drops[i] = points[i].drop_rate;
		columns->srtt[i] = points[i].srtt_ns == UINT64_MAX ? NAN : (double)points[i].srtt_ns;
	}
}

static void free_columns(struct columns *columns)
{
	free(columns->ns);
	free(columns->tx);
	free(columns->rx);
	free(columns->retrans);
	free(columns->drops);
	free(columns->srtt);
}

static void add_time_line(const struct report_record *report, struct out *out)
{
	static const struct field bytes = {.name = "rate", .kind = KIND_BYTES, .store = STORE_U64, .unit = "B/s"},
				  count = {.name = "rate", .kind = KIND_COUNT, .store = STORE_U64, .unit = "/s"},
				  time = {.name = "srtt_ns", .kind = KIND_DURATION, .store = STORE_U64};
	struct svg_times times = {
		.count = report->series.count, .begin_ns = report->begin_ns, .end_ns = report->end_ns};
	struct columns columns;

	if (report->series.count == 0)
		return;
	take_columns(report, &columns);
	times.ns = columns.ns;
	buf_add_text(&out->pending, "<h2>Timeline</h2>\n");
	add_stall_bars(report, &times, out);
	svg_add_lines(&out->pending, &times, (struct svg_series[]){{"sent", columns.tx}, {"received", columns.rx}}, 2,
		      &bytes);
	out_end_line(out);
	svg_add_lines(&out->pending, &times,
		      (struct svg_series[]){{"retransmitted segments", columns.retrans}, {"drops", columns.drops}}, 2,
		      &count);
	out_end_line(out);
	svg_add_lines(&out->pending, &times, (struct svg_series[]){{"TCP SRTT (median)", columns.srtt}}, 1, &time);
	out_end_line(out);
	free_columns(&columns);
}

static void add_latency(const struct report_record *report, struct out *out)
{
	const struct report_latency *latency = report->latency.items;

	add_table(out, "Latency", &report_latency_type, &report->latency);
	for (uint32_t i = 0; i < report->latency.count; i++) {
		buf_add_text(&out->pending, "<p class=\"sub\">");
		add_text(&out->pending, latency[i].what);
		buf_add_text(&out->pending, "</p>");
		svg_add_hist(&out->pending, &latency[i].hist, &report_latency_type.fields[2]);
		out_end_line(out);
	}
}

static void add_head(const struct report_record *report, struct out *out)
{
	struct buf *page = &out->pending;

	buf_add_text(page, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
			   "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
			   "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
			   "'unsafe-inline'\">"
			   "<title>nest report: ");
	add_text(page, report->host && *report->host ? report->host : report->file);
	buf_add_format(page, "</title>\n<style>\n%s</style></head><body>\n<h1>", style);
	add_text(page, report->host && *report->host ? report->host : report->file);
	buf_add_text(page, "</h1>\n<p class=\"sub\">");
	report_add_date(page, report->begin_ns);
	buf_add_text(page, " to ");
	report_add_date(page, report->end_ns);
	buf_add_text(page, ", ");
	format_add_duration(page, (int64_t)report->span_ns);
	buf_add_format(page, ", %" PRIu64 " samples, %" PRIu64 " lost", report->samples, report->lost);
	if (report->kernel && *report->kernel) {
		buf_add_text(page, ", Linux ");
		add_text(page, report->kernel);
	}
	buf_add_text(page, ", from ");
	add_text(page, report->file);
	buf_add_text(page, "</p>");
	out_end_line(out);
}

void report_print_html(const struct report_record *report, const struct list *changes, struct out *out)
{
	const struct report_text *texts = report->unknown.items;

	add_head(report, out);
	add_findings(report, out);
	add_table(out, "Kernel reports", &report_oops_type, &report->oopses);
	if (changes)
		add_table(out, "Differences", &report_change_type, changes);
	add_time_line(report, out);
	add_table(out, "Marks", &report_mark_type, &report->marks);
	add_table(out, "Top talkers", &report_talker_type, &report->talkers);
	add_table(out, "Retransmits", &report_talker_type, &report->retransmits);
	add_table(out, "Drops by reason", &report_drop_type, &report->drops);
	add_latency(report, out);
	if (report->unknown.count)
		buf_add_text(&out->pending, "<h2>Limits of this report</h2><ul>");
	for (uint32_t i = 0; i < report->unknown.count; i++) {
		buf_add_text(&out->pending, "<li>");
		add_text(&out->pending, texts[i].text);
		buf_add_text(&out->pending, "</li>");
	}
	buf_add_text(&out->pending, report->unknown.count ? "</ul></body></html>" : "</body></html>");
	out_end_line(out);
}
