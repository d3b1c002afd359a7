/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text table. The first rows are buffered until a flush or until there are enough, so that the widths fit real
 * values; columns of a stream are also as wide as usual values of their kind, where there is room. A wider value later
 * in a stream widens its column for good where the line has room, else it shifts the rest of the row. On a narrow
 * terminal long text is shortened first, then columns at the right are omitted and counted below the table.
 */
#include "base/text.h"
#include "view/format.h"
#include "view/view.h"

#define HELD_ROWS_MAX  200
#define TEXT_WIDTH_MIN 10
#define GROWN_MAX      40 /* without a line width, one long text must not widen all later rows */

struct state {
	VEC(size_t) widths;
	VEC(char *) cells; /* of the buffered rows */
	size_t held;
	size_t shown; /* columns that fit */
};

static bool is_text(const struct field *field)
{
	return field->kind == KIND_TEXT || field->kind == KIND_STACK;
}

static bool to_the_right(const struct field *field)
{
	switch (field->kind) {
	case KIND_ID:
		return !field->names;
	case KIND_COUNT:
	case KIND_BYTES:
	case KIND_DURATION:
	case KIND_RATIO:
		return true;
	default:
		return false;
	}
}

/* ASCII only: width equals length. */
static bool is_plain(const struct field *field)
{
	return to_the_right(field) || field->kind == KIND_ADDR;
}

static void add_heading(struct buf *out, const struct view_column *column)
{
	if (column->heading)
		buf_add_text(out, column->heading);
	else
		format_add_heading(out, column->ref.field);
}

static size_t longest_name(struct enum_names *names)
{
	const struct enum_names *all = enum_names_get(names);
	size_t longest = 0;

	for (size_t i = 0; i < all->count; i++)
		longest = max_of(longest, strlen(all->items[i].name));
	return longest;
}

/* The usual width of the field's values. */
static size_t usual_width(const struct field *field)
{
	switch (field->kind) {
	case KIND_ID:
		return field->size == sizeof(uint16_t) ? 5 : 7;
	case KIND_BYTES:
		return field->unit ? 9 : 7;
	case KIND_DURATION:
		return field->exact ? 12 : 7;
	case KIND_TIME:
	case KIND_ADDR:
		return 15;
	case KIND_ENDPOINT:
		return 21;
	case KIND_ENUM:
		return min_of(longest_name(field->names), (size_t)16);
	case KIND_TEXT:
		return field->store == STORE_CHARS ? min_of((size_t)field->size - 1, (size_t)10) : 20;
	default:
		return 5;
	}
}

/* Truncates the text from `start` on to the columns, with a mark at the end. */
static void cut(struct view *view, size_t start, size_t columns)
{
	struct buf *out = &view->out->pending;
	const char *text = buf_text(out) + start;
	size_t n = out->len - start, used = 0, at = 0;

	if (out->over || text_columns(text, n) <= columns)
		return;
	while (at < n) {
		unsigned len = text_decode_utf8(text + at, n - at, NULL);
		size_t wide;

		len = len ? len : 1;
		wide = text_columns(text + at, len);
		if (used + wide + 1 > columns)
			break;
		used += wide;
		at += len;
	}
	buf_truncate(out, start + at);
	buf_add_text(out, view->out->utf8 ? "\u2026" : ">");
}

/* Moves the text from `start` on to the right. */
static void move_right(struct buf *out, size_t start, size_t columns)
{
	size_t n = out->len - start;

	buf_add_fill(out, ' ', columns);
	if (out->over || columns == 0)
		return;
	memmove(out->data + start + columns, out->data + start, n);
	memset(out->data + start, ' ', columns);
}

static size_t total_width(const struct state *state)
{
	size_t total = 0;

	for (size_t i = 0; i < state->shown; i++)
		total += state->widths.items[i] + (i > 0);
	return total;
}

static size_t spare_width(const struct view *view)
{
	size_t total = total_width(view->state);

	return view->out->width > total ? view->out->width - total : 0;
}

/* Shrinks the widest text first, one column at a time, then drops columns at the right. */
static void fit(struct view *view)
{
	struct state *state = view->state;
	size_t room = view->out->width;

	while (total_width(state) > room) {
		size_t widest = SIZE_MAX;

		for (size_t i = 0; i < state->shown; i++)
			if (is_text(view->columns.items[i].ref.field) && state->widths.items[i] > TEXT_WIDTH_MIN &&
			    (widest == SIZE_MAX || state->widths.items[i] > state->widths.items[widest]))
				widest = i;
		if (widest == SIZE_MAX)
			break;
		state->widths.items[widest]--;
	}
	while (state->shown > 1 && total_width(state) > room)
		state->shown--;
}

/* More rows will come: reserve their usual width now, where there is room. */
static void grow(struct view *view)
{
	struct state *state = view->state;

	for (size_t i = 0; i < state->shown; i++) {
		size_t usual = usual_width(view->columns.items[i].ref.field), *width = &state->widths.items[i];

		if (usual > *width && view->out->width)
			usual = min_of(usual, *width + spare_width(view));
		*width = max_of(*width, usual);
	}
}

/* --- rows --- */

static void add_word(struct buf *out, const struct view_column *column, const struct value *value)
{
	for (const struct view_word *word = column->words; word->text; word++)
		if (strlen(word->text) == value->len && memcmp(word->text, value->text, value->len) == 0) {
			buf_add_text(out, word->shown);
			return;
		}
	format_add_value(out, column->ref.field, value);
}

static void add_value(struct buf *out, const struct view_column *column, const struct record *record)
{
	const struct field *field = column->ref.field;
	struct value value = record_get(record, column->ref);

	if (value.class == VALUE_UNKNOWN && column->instead.field) {
		field = column->instead.field;
		value = record_get(record, column->instead);
	}
	if (column->words && value.class == VALUE_TEXT)
		add_word(out, column, &value);
	else
		format_add_value(out, field, &value);
	if (value.class == VALUE_ADDR && column->prefix.field) {
		value = record_get(record, column->prefix);
		buf_add_char(out, '/');
		format_add_value(out, column->prefix.field, &value);
	}
}

/* A row: a record, or cells of text. */
struct row {
	const struct record *record;
	char *const *cells;
};

/* Widens a column that is too narrow, if the line has room. */
static void widen(struct view *view, size_t column, size_t wide)
{
	struct state *state = view->state;
	size_t *width = &state->widths.items[column];

	if (wide > *width && view->stream &&
	    (view->out->width ? wide - *width <= spare_width(view) : wide <= GROWN_MAX))
		*width = wide;
}

/* Returns the width of the row. A value that is too wide uses the blanks of the columns after it. */
static size_t add_row(struct view *view, const struct row *row, bool shorten)
{
	struct state *state = view->state;
	struct buf *out = &view->out->pending;
	size_t at = 0, target = 0, spare = shorten ? spare_width(view) : 0;

	for (size_t i = 0; i < state->shown; i++) {
		const struct view_column *column = &view->columns.items[i];
		const struct field *field = column->ref.field;
		size_t start, wide, pad;

		if (i)
			buf_add_char(out, ' ');
		at += i > 0;
		start = out->len;
		if (row->cells)
			buf_add_text(out, row->cells[i]);
		else
			add_value(out, column, row->record);
		if (shorten && is_text(field))
			cut(view, start, state->widths.items[i] + spare);
		wide = is_plain(field) ? out->len - start : text_columns(buf_text(out) + start, out->len - start);
		widen(view, i, wide);
		if (wide > state->widths.items[i])
			spare -= min_of(spare, wide - state->widths.items[i]);
		target += state->widths.items[i] + (i > 0);
		pad = at + wide < target ? target - at - wide : 0;
		if (to_the_right(field))
			move_right(out, start, pad);
		else if (i + 1 < state->shown)
			buf_add_fill(out, ' ', pad);
		at += wide + pad;
	}
	return at;
}

static void write_row(struct view *view, const struct row *row)
{
	size_t start = view->out->pending.len, room = view->wide ? 0 : view->out->width;

	if (add_row(view, row, false) > room && room && !view->out->pending.over) {
		buf_truncate(&view->out->pending, start);
		(void)add_row(view, row, true);
	}
	out_end_line(view->out);
}

static void write_heading(struct view *view)
{
	_cleanup_buf_ struct buf heading = BUF_INIT(65536);
	VEC(char *) cells = {};

	vec_each(&view->columns, column) {
		buf_clear(&heading);
		add_heading(&heading, column);
		vec_push(&cells, xstrdup(buf_text(&heading)));
	}
	buf_add_text(&view->out->pending, out_style_on(view->out, OUT_BOLD));
	(void)add_row(view, &(struct row){.cells = cells.items}, false);
	buf_add_text(&view->out->pending, out_style_off(view->out, OUT_BOLD));
	out_end_line(view->out);
	vec_each(&cells, cell)
		free(*cell);
	vec_done(&cells);
}

static void lay_out(struct view *view)
{
	struct state *state = view->state;
	_cleanup_buf_ struct buf heading = BUF_INIT(256);

	state->shown = view->columns.count;
	state->widths.count = 0;
	for (size_t i = 0; i < view->columns.count; i++) {
		size_t width;

		buf_clear(&heading);
		add_heading(&heading, &view->columns.items[i]);
		width = heading.len;
		for (size_t row = 0; row < state->held; row++) {
			const char *cell = state->cells.items[row * view->columns.count + i];

			width = max_of(width, text_columns(cell, strlen(cell)));
		}
		vec_push(&state->widths, width);
	}
	if (view->out->width && !view->wide)
		fit(view);
	if (view->stream)
		grow(view);
	write_heading(view);
	view->settled = true;
}

static void flush(struct view *view)
{
	struct state *state = view->state;

	if (!view->settled && (state->held > 0 || view->repeated))
		lay_out(view);
	for (size_t row = 0; row < state->held; row++)
		write_row(view, &(struct row){.cells = state->cells.items + row * view->columns.count});
	vec_each(&state->cells, cell)
		free(*cell);
	state->cells.count = 0;
	state->held = 0;
}

static void write_record(struct view *view, const struct record *record)
{
	struct state *state = view->state;

	if (view->settled) {
		write_row(view, &(struct row){.record = record});
		return;
	}
	vec_each(&view->columns, column) {
		buf_clear(&view->cell);
		add_value(&view->cell, column, record);
		vec_push(&state->cells, xstrdup(buf_text(&view->cell)));
	}
	if (++state->held >= HELD_ROWS_MAX)
		flush(view);
}

static void tell_hidden(struct view *view)
{
	struct state *state = view->state;

	if (state->shown == view->columns.count)
		return;
	buf_add_char(&view->out->pending, '(');
	format_add_plural(&view->out->pending, view->columns.count - state->shown, "more column");
	buf_add_text(&view->out->pending, ": a wider terminal, or -w)");
	out_end_line(view->out);
}

/* Starts another table of the same columns. */
static void again(struct view *view)
{
	flush(view);
	view->settled = false;
}

static void end(struct view *view)
{
	struct state *state = view->state;

	if (!view->settled && view->columns.count > 0)
		lay_out(view); /* a table without rows still shows its header */
	flush(view);
	tell_hidden(view);
	vec_done(&state->cells);
	vec_done(&state->widths);
}

static const struct view_class table_view = {
	.name = "table",
	.help = "text for people: aligned, scaled, fitted to the terminal",
	.state_size = sizeof(struct state),
	.record = write_record,
	.flush = flush,
	.again = again,
	.end = end,
};
VIEW_CLASS(table_view);
