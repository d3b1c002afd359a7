/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>

#include "base/clock.h"
#include "base/text.h"
#include "view/format.h"
#include "view/hist.h"
#include "view/svg.h"

#define RIGHT   (SVG_WIDTH - 12)
#define LINES_H 150 /* height of the plot itself */
#define TOP     18
#define BAR_H   20
#define HIST_H  120
#define TICKS   6
#define Y_TICKS 3

static void add_value(struct buf *out, const struct field *like, double number)
{
	format_add_value(out, like, &(struct value){.class = VALUE_REAL, .real = number});
}

double svg_round_step(double least)
{
	double power = pow(10, floor(log10(least))), digit = least / power;

	return power * (digit <= 1.001 ? 1 : digit <= 2.001 ? 2 : digit <= 5.001 ? 5 : 10);
}

static double x_of(const struct svg_times *times, uint64_t ns)
{
	double span = (double)(times->end_ns > times->begin_ns ? times->end_ns - times->begin_ns : 1);

	return SVG_LEFT + ((double)ns - (double)times->begin_ns) / span * (RIGHT - SVG_LEFT);
}

static void begin(struct buf *out, double height, const char *label)
{
	buf_add_format(out, "<svg viewBox=\"0 0 %d %.0f\" role=\"img\" aria-label=\"%s\">", SVG_WIDTH, height, label);
}

/* Seconds between two ticks of a time axis. */
static uint64_t time_step(uint64_t span_ns)
{
	static const uint64_t steps[] = {1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200};

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		if (span_ns / NSEC_PER_SEC / steps[i] <= TICKS)
			return steps[i];
	return (span_ns / NSEC_PER_SEC / TICKS / 86400 + 1) * 86400;
}

/* Times of day along the bottom. */
static void add_time_axis(struct buf *out, const struct svg_times *times, double bottom)
{
	uint64_t span = times->end_ns > times->begin_ns ? times->end_ns - times->begin_ns : 1;
	uint64_t step = time_step(span) * NSEC_PER_SEC;

	for (uint64_t ns = (times->begin_ns + step - 1) / step * step; ns <= times->end_ns; ns += step) {
		double x = x_of(times, ns);

		buf_add_format(out, "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%.1f\"/>", x, x, TOP,
			       bottom);
		buf_add_format(out, "<text class=\"axis\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, bottom + 15,
			       x < SVG_LEFT + 30 ? "start"
			       : x > RIGHT - 30  ? "end"
						 : "middle");
		format_add_clock(out, ns);
		buf_add_text(out, "</text>");
	}
}

static double most_of(const struct svg_series *series, size_t count, size_t points)
{
	double most = 0;

	for (size_t i = 0; i < count; i++)
		for (size_t p = 0; p < points; p++)
			if (!isnan(series[i].values[p]))
				most = fmax(most, series[i].values[p]);
	return most;
}

static void add_line(struct buf *out, const struct svg_times *times, const struct svg_series *series, unsigned number,
		     double most)
{
	bool drawing = false;

	buf_add_format(out, "<path class=\"line s%u\" d=\"", number);
	for (size_t i = 0; i < times->count; i++) {
		double value = series->values[i];

		if (isnan(value)) {
			drawing = false;
			continue;
		}
		buf_add_format(out, "%s%.1f %.1f", drawing ? "L" : "M", x_of(times, times->ns[i]),
			       TOP + LINES_H - value / most * LINES_H);
		drawing = true;
	}
	buf_add_text(out, "\"/>");
}

static void add_legend(struct buf *out, const struct svg_series *series, size_t count)
{
	double x = SVG_LEFT;

	for (size_t i = 0; i < count; i++) {
		buf_add_format(out, "<rect class=\"fill s%zu\" x=\"%.0f\" y=\"3\" width=\"10\" height=\"10\"/>", i + 1,
			       x);
		buf_add_format(out, "<text class=\"axis\" x=\"%.0f\" y=\"12\">", x + 14);
		text_add_html(out, series[i].name, strlen(series[i].name));
		buf_add_text(out, "</text>");
		x += 30 + 7 * (double)strlen(series[i].name);
	}
}

static void say_nothing(struct buf *out, const struct svg_series *series, size_t count)
{
	buf_add_text(out, "<p class=\"sub\">None in this time: ");
	for (size_t i = 0; i < count; i++) {
		buf_add_text(out, i ? ", " : "");
		text_add_html(out, series[i].name, strlen(series[i].name));
	}
	buf_add_text(out, "</p>\n");
}

void svg_add_lines(struct buf *out, const struct svg_times *times, const struct svg_series *series, size_t count,
		   const struct field *like)
{
	double most = most_of(series, count, times->count), step, bottom = TOP + LINES_H;

	if (!(most > 0)) {
		say_nothing(out, series, count);
		return;
	}
	step = svg_round_step(most / Y_TICKS);
	most = ceil(most / step - 0.001) * step;
	begin(out, bottom + 22, series[0].name);
	add_time_axis(out, times, bottom);
	for (double value = 0; value <= most * 1.001; value += step) {
		double y = bottom - LINES_H * value / most;

		buf_add_format(out, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>", SVG_LEFT,
			       RIGHT, y, y);
		buf_add_format(out, "<text class=\"axis\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">", SVG_LEFT - 6,
			       y + 4);
		add_value(out, like, value);
		buf_add_text(out, "</text>");
	}
	for (size_t i = 0; i < count; i++)
		add_line(out, times, &series[i], (unsigned)i + 1, most);
	add_legend(out, series, count);
	buf_add_text(out, "</svg>\n");
}

/* Inside the bar if it fits, else beside it on the side with room. */
static void add_label_place(struct buf *out, double from, double to, double y, size_t letters)
{
	double width = 6.6 * (double)letters;

	if (to - from > width + 10)
		buf_add_format(out, "<text class=\"barin\" x=\"%.1f\" y=\"%.1f\">", from + 6, y);
	else if (to + width + 10 < RIGHT)
		buf_add_format(out, "<text class=\"bar\" x=\"%.1f\" y=\"%.1f\">", to + 5, y);
	else
		buf_add_format(out, "<text class=\"bar\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">", from - 5, y);
}

void svg_add_bars(struct buf *out, const struct svg_times *times, const struct svg_bar *bars, size_t count)
{
	double bottom = TOP + BAR_H * (double)count;

	begin(out, bottom + 22, "findings over time");
	add_time_axis(out, times, bottom);
	for (size_t i = 0; i < count; i++) {
		double from = fmax(x_of(times, bars[i].begin_ns), SVG_LEFT),
		       to = fmin(x_of(times, bars[i].end_ns), RIGHT), y = TOP + BAR_H * (double)i;

		buf_add_format(
			out,
			"<g><rect class=\"fill s%u\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" rx=\"3\"/>",
			bars[i].series, from, y + 2, fmax(to - from, 3), BAR_H - 4);
		add_label_place(out, from, fmax(to, from + 3), y + BAR_H - 6, strlen(bars[i].label));
		text_add_html(out, bars[i].label, strlen(bars[i].label));
		buf_add_text(out, "</text><title>");
		text_add_html(out, bars[i].title, strlen(bars[i].title));
		buf_add_text(out, "</title></g>");
	}
	buf_add_text(out, "</svg>\n");
}

void svg_add_hist(struct buf *out, const struct list *slots, const struct field *like)
{
	const struct hist_slot *items = slots->items;
	double width = (double)(RIGHT - SVG_LEFT) / fmax(slots->count, 1), most = 1, bottom = TOP + HIST_H;

	for (uint32_t i = 0; i < slots->count; i++)
		most = fmax(most, (double)items[i].count);
	width = fmin(width, 90);
	begin(out, bottom + 22, "distribution");
	for (uint32_t i = 0; i < slots->count; i++) {
		double x = SVG_LEFT + width * i, height = (double)items[i].count / most * HIST_H;

		buf_add_format(out, "<g><rect class=\"fill s1\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>",
			       x + 1, bottom - height, width - 2, height);
		buf_add_format(out, "<text class=\"axis\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">", x + width / 2,
			       bottom - height - 4);
		format_add_count(out, (int64_t)items[i].count);
		buf_add_format(out, "</text><text class=\"axis\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"start\">", x,
			       bottom + 15);
		add_value(out, like, (double)items[i].lo);
		buf_add_text(out, "</text></g>");
	}
	buf_add_format(out, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/></svg>\n", SVG_LEFT,
		       RIGHT, bottom, bottom);
}
