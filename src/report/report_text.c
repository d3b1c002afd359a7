/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report as text for a terminal. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "report/report.h"
#include "view/format.h"
#include "view/hist.h"
#include "view/list.h"

#define LINE_WIDTH 60u
/* What stands beside a line, such as the cause and its module. */
#define LABEL_WIDTH 30u

static unsigned line_width(const struct out *out)
{
	return out->width == 0
		       ? LINE_WIDTH
		       : min_of(max_of(out->width - min_of(LABEL_WIDTH, out->width), LINE_WIDTH / 4), LINE_WIDTH);
}

static void add_heading(struct out *out, const char *text)
{
	out_end_line(out);
	buf_add_format(&out->pending, "%s%s%s", out_style_on(out, OUT_BOLD), text, out_style_off(out, OUT_BOLD));
	out_end_line(out);
}

static void print_section(struct out *out, const char *heading, const struct record_type *type, const struct list *list)
{
	if (list->count == 0)
		return;
	add_heading(out, heading);
	list_print(out, type, list);
}

void report_add_date(struct buf *out, uint64_t ns)
{
	time_t seconds = (time_t)(ns / NSEC_PER_SEC);
	struct tm local;
	char text[32] = "-";

	if (ns && localtime_r(&seconds, &local))
		(void)strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &local);
	buf_add_text(out, text);
}

static void print_head(const struct report_record *report, struct out *out)
{
	struct buf *text = &out->pending;

	buf_add_text(text, out_style_on(out, OUT_BOLD));
	text_add_terminal(text, report->file ?: "", strlen(report->file ?: ""));
	buf_add_text(text, out_style_off(out, OUT_BOLD));
	if (report->host && *report->host) {
		buf_add_text(text, " of ");
		text_add_terminal(text, report->host, strlen(report->host));
	}
	if (report->kernel && *report->kernel) {
		buf_add_text(text, ", Linux ");
		text_add_terminal(text, report->kernel, strlen(report->kernel));
	}
	out_end_line(out);
	if (report->begin_ns) {
		report_add_date(text, report->begin_ns);
		buf_add_text(text, " to ");
		report_add_date(text, report->end_ns);
		buf_add_text(text, ", ");
		format_add_duration(text, (int64_t)report->span_ns);
		buf_add_text(text, ", ");
	}
	buf_add_format(text, "%" PRIu64 " %s, %" PRIu64 " lost", report->samples,
		       report->host && *report->host ? "samples" : "packets", report->lost);
	out_end_line(out);
}

/* One bar per finding. */
static void print_time_line(const struct report_record *report, struct out *out)
{
	const struct report_stall *stalls = report->stalls.items;
	double span = (double)max_of(report->span_ns, (uint64_t)1);
	unsigned width = line_width(out);

	for (uint32_t i = 0; i < report->stalls.count && report->begin_ns; i++) {
		double from = ((double)stalls[i].begin_ns - (double)report->begin_ns) / span * width,
		       to = from + (double)stalls[i].span_ns / span * width;

		/* Also show a finding at the very end. */
		from = fmin(from, width - 1);

		buf_add_char(&out->pending, '|');
		for (unsigned column = 0; column < width; column++)
			buf_add_char(&out->pending, column + 1 > from && column < fmax(to, from + 1) ? '#' : ' ');
		buf_add_text(&out->pending, "| ");
		text_add_terminal(&out->pending, stalls[i].cause, strlen(stalls[i].cause));
		buf_add_char(&out->pending, ' ');
		text_add_terminal(&out->pending, stalls[i].module, strlen(stalls[i].module));
		out_end_line(out);
	}
}

/* A sparkline of the figures of every second; false when all are 0. */
static bool print_spark(const struct report_record *report, struct out *out, const char *what,
			const struct field *field)
{
	static const char *const heights[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}, *const plain[] = {
												    " ", ".", ".",
												    ":", ":", "-",
												    "=", "#", "#"};
	const struct report_point *points = report->series.items;
	unsigned width = line_width(out);
	double most = 0, sums[LINE_WIDTH] = {};

	for (uint32_t i = 0; i < report->series.count; i++) {
		size_t column = (size_t)i * width / max_of(report->series.count, 1u);
		struct value value = value_get(field, &points[i]);

		if (value.class == VALUE_REAL)
			sums[column] = fmax(sums[column], value.real);
		most = fmax(most, sums[column]);
	}
	if (most <= 0)
		return false;
	buf_add_char(&out->pending, '|');
	for (unsigned i = 0; i < width; i++) {
		/* Fewer seconds than columns: repeat each second. */
		size_t column = report->series.count < width
					? (size_t)(i * report->series.count / width) * width / report->series.count
					: i;
		unsigned height = (unsigned)ceil(sums[column] / most * 8);

		buf_add_text(&out->pending, out->utf8 ? heights[height] : plain[height]);
	}
	buf_add_format(&out->pending, "| %s, max ", what);
	format_add_value(&out->pending, field, &(struct value){.class = VALUE_REAL, .real = most});
	out_end_line(out);
	return true;
}

static void print_series(const struct report_record *report, struct out *out)
{
	static const struct {
		const char *what;
		const char *field;
	} lines[] = {
		{"sent", "tx_rate"},
		{"received", "rx_rate"},
		{"retransmitted segments", "retrans_rate"},
		{"drops", "drop_rate"},
	};
	const struct shape shape = SHAPE_OF(&report_point_type);
	_cleanup_buf_ struct buf nothing = BUF_INIT(256);
	struct field_ref ref;

	if (report->series.count == 0)
		return;
	add_heading(out, "Timeline");
	print_time_line(report, out);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		if (shape_find(&shape, lines[i].field, &ref) == 0 &&
		    !print_spark(report, out, lines[i].what, ref.field))
			buf_add_format(&nothing, "%s%s", nothing.len ? ", " : "None in this time: ", lines[i].what);
	if (nothing.len) {
		buf_add_text(&out->pending, buf_text(&nothing));
		out_end_line(out);
	}
}

static void print_latency(const struct report_record *report, struct out *out)
{
	static const struct field like = {.name = "lat_ns", .kind = KIND_DURATION};
	const struct report_latency *latency = report->latency.items;

	print_section(out, "Latency", &report_latency_type, &report->latency);
	for (uint32_t i = 0; i < report->latency.count; i++) {
		out_end_line(out);
		text_add_terminal(&out->pending, latency[i].what, strlen(latency[i].what));
		out_end_line(out);
		hist_print(out, &like, latency[i].hist.items, latency[i].hist.count, latency[i].max_ns);
	}
}

static void print_texts(struct out *out, const char *heading, const struct list *list)
{
	const struct report_text *texts = list->items;

	if (list->count)
		add_heading(out, heading);
	for (uint32_t i = 0; i < list->count; i++) {
		buf_add_text(&out->pending, "- ");
		text_add_terminal(&out->pending, texts[i].text, strlen(texts[i].text));
		out_end_line(out);
	}
}

void report_print(const struct report_record *report, const struct list *changes, struct out *out)
{
	print_head(report, out);
	if (report->stalls.count + report->oopses.count == 0) {
		out_end_line(out);
		buf_add_text(&out->pending, "No fault found.");
		out_end_line(out);
	}
	print_section(out, "Findings", &report_stall_type, &report->stalls);
	print_section(out, "Kernel reports", &report_oops_type, &report->oopses);
	if (changes)
		print_section(out, "Differences", &report_change_type, changes);
	print_series(report, out);
	print_section(out, "Marks", &report_mark_type, &report->marks);
	print_section(out, "Top talkers", &report_talker_type, &report->talkers);
	print_section(out, "Retransmits", &report_talker_type, &report->retransmits);
	print_section(out, "Drops by reason", &report_drop_type, &report->drops);
	print_latency(report, out);
	print_texts(out, "Limits of this report", &report->unknown);
}
