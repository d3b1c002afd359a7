/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "path/draw/waterfall.h"
#include "base/text.h"
#include "view/format.h"

#define INDENT     "   "
#define LABELS     43 /* columns before the bar */
#define WIDTH      100
#define BAR_LEAST  20
#define BAR_MOST   80
#define STAGE_WIDE 10

struct drawing {
	const struct journey *journey;
	struct out *out;
	unsigned bar;
};

static void add_padded(struct buf *out, const char *text, unsigned width, bool right)
{
	unsigned pad = width > strlen(text) ? width - (unsigned)strlen(text) : 0;

	if (right)
		buf_add_fill(out, ' ', pad);
	buf_add_text(out, text);
	if (!right)
		buf_add_fill(out, ' ', pad);
}

static void add_duration(struct buf *out, uint64_t ns, unsigned width)
{
	_cleanup_buf_ struct buf text = BUF_INIT(64);

	format_add_duration(&text, (int64_t)ns);
	add_padded(out, buf_text(&text), width, true);
}

/* Column of a moment within the bar, without losing digits to 1/total. */
static unsigned place(const struct drawing *d, uint64_t at)
{
	return d->journey->total_ns ? (unsigned)((double)at / (double)d->journey->total_ns * d->bar) : 0;
}

static void add_bar(const struct drawing *d, const struct journey_stage *stage)
{
	static const enum out_style styles[] = {OUT_YELLOW, OUT_RED, OUT_CYAN, OUT_GREEN};
	uint64_t at = stage_offset(d->journey, stage);
	/* A short stage is still visible; one that took no time is not. */
	unsigned from = min_of(place(d, at), d->bar - 1),
		 to = min_of(max_of(place(d, at + stage->ns), from + 1), d->bar);
	bool waits = stage_kind(stage) == STAGE_WAITS;
	struct buf *line = &d->out->pending;

	if (stage->ns == 0)
		return;
	buf_add_fill(line, ' ', from);
	buf_add_text(line, out_style_on(d->out, styles[stage_kind(stage)]));
	for (unsigned i = from; i < to; i++)
		buf_add_text(line, d->out->utf8 ? (waits ? "░" : "█") : waits ? "." : "#");
	buf_add_text(line, out_style_off(d->out, styles[stage_kind(stage)]));
}

static void print_stage(const struct drawing *d, const struct journey_stage *stage, bool widest)
{
	_cleanup_buf_ struct buf cpu = BUF_INIT(16);
	struct buf *line = &d->out->pending;

	stage_add_cpu(&cpu, stage);
	buf_add_text(line, INDENT);
	buf_add_text(line, widest ? out_style_on(d->out, OUT_BOLD) : "");
	add_padded(line, stage_name(stage), STAGE_WIDE, false);
	add_duration(line, stage_offset(d->journey, stage), 8);
	add_duration(line, stage->ns, 8);
	add_padded(line, buf_text(&cpu), 4, true);
	buf_add_char(line, ' ');
	add_padded(line, stage_context(stage), 8, false);
	buf_add_text(line, widest ? out_style_off(d->out, OUT_BOLD) : "");
	buf_add_text(line, " ");
	add_bar(d, stage);
	while (line->len && line->data[line->len - 1] == ' ')
		line->data[--line->len] = '\0';
	out_end_line(d->out);
}

static void print_text(struct out *out, const char *indent, enum out_style style, const struct buf *text)
{
	_cleanup_buf_ struct buf escaped = BUF_INIT(65536);

	if (text->len == 0)
		return;
	text_add_terminal(&escaped, text->data, text->len);
	buf_add_text(&out->pending, indent);
	buf_add_text(&out->pending, out_style_on(out, style));
	out_add_folded(out, buf_text(&escaped), strlen(indent), INDENT);
	buf_add_text(&out->pending, out_style_off(out, style));
	out_end_line(out);
}

void waterfall_print(const struct journey *journey, struct out *out)
{
	_cleanup_buf_ struct buf title = BUF_INIT(4096), gap = BUF_INIT(4096), hidden = BUF_INIT(4096);
	unsigned width = out->width ?: WIDTH;
	struct drawing drawing = {.journey = journey, .out = out, .bar = width > LABELS ? width - LABELS : 0};
	const struct journey_stage *widest = journey_widest(journey);

	drawing.bar = min_of(max_of(drawing.bar, (unsigned)BAR_LEAST), (unsigned)BAR_MOST);
	format_add_duration(&title, (int64_t)journey->total_ns);
	buf_add_text(&title, " ");
	journey_add_title(&title, journey);
	buf_add_text(&title, ", ");
	format_add_time(&title, journey->time_ns);
	print_text(out, "", OUT_BOLD, &title);
	journey_add_widest(&gap, journey);
	print_text(out, INDENT, OUT_PLAIN, &gap);
	if (journey->stage_count) {
		buf_add_text(&out->pending, INDENT "STAGE           AT    TOOK CPU CONTEXT  ");
		buf_add_text(&out->pending, out->utf8 ? "░ WAITS █ WORKS" : ". WAITS # WORKS");
		out_end_line(out);
	}
	for (uint32_t i = 0; i < journey->stage_count; i++)
		print_stage(&drawing, &journey->stages[i], &journey->stages[i] == widest);
	journey_add_hidden(&hidden, journey);
	print_text(out, INDENT, OUT_DIM, &hidden);
}
