/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Histograms over time: a line per interval and group, a shade per slot. Needs records with a histogram (a field hist).
 * The axis grows with the values; it is printed again when it has grown.
 */
#include <math.h>

#include "base/text.h"
#include "view/format.h"
#include "view/hist.h"
#include "view/part.h"

#define TIME_WIDTH   8
#define COUNT_WIDTH  6
#define FIGURE_WIDTH 8
#define LINES_MAX    30 /* below one axis */
#define LEVELS       4

enum part { TIME, COUNT, MAX, HIST, PARTS };

struct state {
	struct field_ref refs[PARTS];
	VEC(struct hist_slot) axis; /* without gaps */
	uint64_t most;              /* largest count of a cell so far */
	unsigned lines;             /* since the axis was printed */
};

static void begin(struct view *view)
{
	static const char *const names[PARTS] = {"time_ns", "count", "max", "hist"};
	struct state *state = view->state;

	view_find_parts(view, names, PARTS, state->refs);
	state->lines = LINES_MAX;
}

/* --- axis --- */

static bool is_log2(const struct hist_slot *slot)
{
	return slot->hi == UINT64_MAX || slot->hi == (slot->lo <= 1 ? slot->lo : 2 * slot->lo - 1);
}

/* The slot after this one, below the limit. */
static struct hist_slot slot_after(const struct hist_slot *slot, uint64_t limit)
{
	struct hist_slot next = {.lo = slot->hi + 1};
	uint64_t width = is_log2(slot) ? max_of(next.lo, UINT64_C(1)) : slot->hi - slot->lo + 1;

	next.hi = limit - next.lo > width ? next.lo + width - 1 : limit - 1;
	return next;
}

/* Slots of both, from the lowest to the highest, and those between. */
static void join_slots(struct state *state, const struct hist_slot *slots, size_t count)
{
	VEC(struct hist_slot) axis = {};
	bool below = state->axis.count == 0 || slots[0].lo < state->axis.items[0].lo;
	const struct hist_slot *first = below ? slots : state->axis.items;
	const struct hist_slot *second = below ? state->axis.items : slots;
	size_t first_count = below ? count : state->axis.count, second_count = below ? state->axis.count : count;

	for (size_t i = 0; i < first_count; i++)
		vec_push(&axis, first[i]);
	for (size_t i = 0; i < second_count; i++) {
		struct hist_slot last = axis.items[axis.count - 1];

		while (last.hi < UINT64_MAX && last.hi + 1 < second[i].lo) {
			last = slot_after(&last, second[i].lo);
			vec_push(&axis, last);
		}
		if (second[i].lo > last.lo)
			vec_push(&axis, second[i]);
	}
	vec_done(&state->axis);
	state->axis.items = axis.items;
	state->axis.count = axis.count;
	state->axis.room = axis.room;
}

static void extend_axis(struct state *state, const struct list *hist)
{
	const struct hist_slot *slots = hist->items, *axis = state->axis.items;

	if (state->axis.count > 0 && slots[0].lo >= axis[0].lo &&
	    slots[hist->count - 1].lo <= axis[state->axis.count - 1].lo)
		return;
	join_slots(state, slots, hist->count);
	state->lines = LINES_MAX;
}

/* How a line is divided. */
struct layout {
	unsigned cells;    /* columns of the map */
	unsigned per_slot; /* columns of a slot */
	unsigned slots;    /* that share a column, where there are more than columns */
};

static struct layout lay_out(const struct view *view)
{
	const struct state *state = view->state;
	unsigned figures = TIME_WIDTH + COUNT_WIDTH + 3 * (FIGURE_WIDTH + 1) + 4, count = (unsigned)state->axis.count;
	unsigned room = view->out->width == 0        ? 2 * count + FIGURE_WIDTH
			: view->out->width > figures ? view->out->width - figures
						     : 1;
	struct layout layout = {.per_slot = max_of(min_of(room / count, view->out->width ? 4U : 2U), 1U)};

	layout.slots = (count + room - 1) / room;
	layout.cells = layout.slots > 1 ? (count + layout.slots - 1) / layout.slots : count * layout.per_slot;
	/* Room for one label. */
	layout.cells = max_of(layout.cells, min_of((unsigned)FIGURE_WIDTH, room));
	return layout;
}

static unsigned column_of(const struct layout *layout, size_t slot)
{
	return (unsigned)slot / layout->slots * layout->per_slot;
}

/* --- lines --- */

static void add_value(struct buf *out, const struct field *field, uint64_t value)
{
	struct value shown = {.class = VALUE_UINT, .uint = value};

	format_add_value(out, field, &shown);
}

static void add_right(struct buf *out, const struct buf *text, unsigned width)
{
	buf_add_fill(out, ' ', width - min_of(width, (unsigned)text->len));
	buf_add(out, text->data, text->len);
}

static void add_words_right(struct buf *out, const char *word, unsigned width)
{
	buf_add_format(out, "%*s", (int)width, word);
}

/* The first value of slots, as many as fit. */
static void print_axis(struct view *view, const struct layout *layout)
{
	const struct state *state = view->state;
	struct buf *out = &view->out->pending;
	_cleanup_buf_ struct buf labels = BUF_INIT(65536);

	for (size_t i = 0; i < state->axis.count; i++) {
		_cleanup_buf_ struct buf label = BUF_INIT(256);
		unsigned at = column_of(layout, i);

		add_value(&label, state->refs[MAX].field, state->axis.items[i].lo);
		if ((labels.len > 0 && at < labels.len + 2) || at + label.len > layout->cells)
			continue;
		buf_add_fill(&labels, ' ', at - labels.len);
		buf_add(&labels, label.data, label.len);
	}
	buf_add_fill(&labels, ' ', layout->cells - min_of(layout->cells, (unsigned)labels.len));
	buf_add_format(out, "%-*s  %s ", TIME_WIDTH, "TIME", buf_text(&labels));
	add_words_right(out, "COUNT", COUNT_WIDTH + 1);
	add_words_right(out, "P50", FIGURE_WIDTH + 1);
	add_words_right(out, "P99", FIGURE_WIDTH + 1);
	add_words_right(out, "MAX", FIGURE_WIDTH + 1);
	out_end_line(view->out);
}

/* By magnitude: one of a million is seen, and a thousand is darker than ten. */
static unsigned level_of(const struct state *state, uint64_t count)
{
	if (count == 0)
		return 0;
	if (state->most <= 1)
		return LEVELS;
	return 1 + (unsigned)fmin(log((double)count) / log((double)state->most) * LEVELS, LEVELS - 1);
}

static void add_cells(struct view *view, const struct layout *layout, const struct list *hist)
{
	static const char *const shades[] = {" ", "░", "▒", "▓", "█"}, *const plain[] = {" ", ".", "-", "+", "#"};
	struct state *state = view->state;
	_cleanup_free_ uint64_t *counts = xzalloc((layout->cells + 1) * sizeof(*counts));
	const struct hist_slot *slots = hist->items;
	size_t at = 0;

	for (uint32_t i = 0; i < hist->count; i++) {
		while (at + 1 < state->axis.count && state->axis.items[at].lo < slots[i].lo)
			at++;
		counts[column_of(layout, at)] += slots[i].count;
	}
	for (unsigned i = 0; i < layout->cells; i++)
		state->most = max_of(state->most, counts[i]);
	for (unsigned i = 0; i < layout->cells; i++) {
		unsigned level = level_of(state, counts[i - i % layout->per_slot]);

		buf_add_text(&view->out->pending, view->out->utf8 ? shades[level] : plain[level]);
	}
}

static void add_figures(struct view *view, const struct record *record, const struct list *hist)
{
	const struct state *state = view->state;
	struct value most = view_part(record, state->refs[MAX]), count = view_part(record, state->refs[COUNT]);
	uint64_t max = most.class == VALUE_UINT                   ? most.uint
		       : most.class == VALUE_INT && most.sint > 0 ? (uint64_t)most.sint
								  : 0;
	uint64_t values[] = {hist_percentile(hist->items, hist->count, 50, max),
			     hist_percentile(hist->items, hist->count, 99, max), max};
	_cleanup_buf_ struct buf text = BUF_INIT(256);

	buf_add_char(&view->out->pending, ' ');
	format_add_value(&text, state->refs[COUNT].field, &count);
	add_right(&view->out->pending, &text, COUNT_WIDTH);
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		buf_clear(&text);
		add_value(&text, state->refs[MAX].field, values[i]);
		buf_add_char(&view->out->pending, ' ');
		add_right(&view->out->pending, &text, FIGURE_WIDTH);
	}
}

/* Fields in front of the figures. */
static void add_keys(struct view *view, const struct record *record)
{
	const struct state *state = view->state;
	const char *between = "  ";

	vec_each(&view->columns, column) {
		struct value value;

		if (column->ref.field == state->refs[COUNT].field)
			return;
		if (column->ref.field->kind == KIND_STACK)
			continue;
		value = record_get(record, column->ref);
		buf_add_format(&view->out->pending, "%s%s ", between, column->ref.field->name);
		format_add_value(&view->out->pending, column->ref.field, &value);
		between = ", ";
	}
}

static void draw_line(struct view *view, const struct record *record, const struct list *hist)
{
	struct state *state = view->state;
	struct value time = view_part(record, state->refs[TIME]);
	struct layout layout;
	struct buf *out = &view->out->pending;

	extend_axis(state, hist);
	layout = lay_out(view);
	if (state->lines >= LINES_MAX) {
		print_axis(view, &layout);
		state->lines = 0;
	}
	state->lines++;
	if (time.class == VALUE_UINT)
		format_add_clock(out, time.uint);
	else
		buf_add_format(out, "%-*s", TIME_WIDTH, "-");
	buf_add_text(out, " |");
	buf_add_text(out, out_style_on(view->out, OUT_CYAN));
	add_cells(view, &layout, hist);
	buf_add_text(out, out_style_off(view->out, OUT_CYAN));
	buf_add_char(out, '|');
	add_figures(view, record, hist);
	add_keys(view, record);
	out_end_line(view->out);
}

static void draw(struct view *view, const struct record *record)
{
	const struct state *state = view->state;
	struct value hist = view_part(record, state->refs[HIST]);

	if (state->refs[MAX].field && state->refs[COUNT].field && hist.class == VALUE_LIST && hist.list->count > 0)
		draw_line(view, record, hist.list);
}

static void end(struct view *view)
{
	struct state *state = view->state;

	vec_done(&state->axis);
}

static const struct view_class heat_view = {
	.name = "heat",
	.help = "histograms over time: a line per interval, a shade per slot",
	.all_fields = true,
	.needs = "hist",
	.lacks = "a histogram: --hist, --lhist, or a tool that prints one",
	.state_size = sizeof(struct state),
	.begin = begin,
	.record = draw,
	.end = end,
};
VIEW_CLASS(heat_view);
