/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text table. The first rows are buffered until a flush or until there are enough, so that the widths fit real
 * values; later rows keep the columns and overflow only where a value is wider. On a narrow terminal long text is
 * shortened first, then columns at the right are omitted and counted below the table.
 */
#include <ctype.h>

#include "base/text.h"
#include "view/format.h"
#include "view/view.h"

#define HELD_ROWS_MAX  200
#define TEXT_WIDTH_MIN 10

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
	case KIND_COUNT:
	case KIND_ID:
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

/* The heading is the field's name without its unit, which the values carry. */
static void add_heading(struct buf *out, const struct view_column *column)
{
	const struct field *field = column->ref.field;
	size_t n = strlen(field->name);

	if (column->heading) {
		buf_add_text(out, column->heading);
		return;
	}
	if (n > 3 && strcmp(field->name + n - 3, "_ns") == 0)
		n -= 3;
	else if (n > 6 && strcmp(field->name + n - 6, "_bytes") == 0)
		n -= 6;
	for (size_t i = 0; i < n; i++)
		buf_add_char(out, field->name[i] == '_' ? '-' : (char)toupper((unsigned char)field->name[i]));
}

/* Truncates text to the columns, with a mark at the end. */
static void add_cut(struct buf *out, const char *text, size_t columns, bool utf8)
{
	size_t n = strlen(text), used = 0, at = 0;

	if (text_columns(text, n) <= columns) {
		buf_add(out, text, n);
		return;
	}
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
	buf_add(out, text, at);
	buf_add_text(out, utf8 ? "\u2026" : ">");
}

static void add_cell(struct view *view, size_t column, const char *text, size_t n)
{
	struct state *state = view->state;
	const struct field *field = view->columns.items[column].ref.field;
	size_t width = state->widths.items[column];
	struct buf *out = &view->out->pending;
	bool last = column + 1 == state->shown;
	size_t wide, pad;

	if (view->out->width && is_text(field)) {
		buf_clear(&view->cut);
		add_cut(&view->cut, text, width, view->out->utf8);
		text = buf_text(&view->cut);
		n = view->cut.len;
	}
	wide = is_plain(field) ? n : text_columns(text, n);
	pad = wide < width ? width - wide : 0;
	if (column)
		buf_add_char(out, ' ');
	if (to_the_right(field))
		buf_add_fill(out, ' ', pad);
	buf_add(out, text, n);
	if (!to_the_right(field) && !last)
		buf_add_fill(out, ' ', pad);
}

/* Right-aligns the text from `start` on in its column. */
static void align_right(struct buf *out, size_t start, size_t width)
{
	size_t n = out->len - start;

	if (out->over || n >= width)
		return;
	buf_add_fill(out, ' ', width - n);
	if (out->over)
		return;
	memmove(out->data + start + width - n, out->data + start, n);
	memset(out->data + start, ' ', width - n);
}

static size_t total_width(const struct state *state)
{
	size_t total = 0;

	for (size_t i = 0; i < state->shown; i++)
		total += state->widths.items[i] + (i > 0);
	return total;
}

static void fit_columns(struct view *view)
{
	struct state *state = view->state;
	size_t room = view->out->width;

	if (room == 0 || view->wide)
		return;
	/* Shrinks the widest text first, one column at a time. */
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

static void lay_out(struct view *view)
{
	struct state *state = view->state;
	_cleanup_buf_ struct buf heading = BUF_INIT(256);

	state->shown = view->columns.count;
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
	fit_columns(view);
	buf_add_text(&view->out->pending, out_style_on(view->out, OUT_BOLD));
	for (size_t i = 0; i < state->shown; i++) {
		buf_clear(&heading);
		add_heading(&heading, &view->columns.items[i]);
		add_cell(view, i, buf_text(&heading), heading.len);
	}
	buf_add_text(&view->out->pending, out_style_off(view->out, OUT_BOLD));
	out_end_line(view->out);
	view->settled = true;
}

static void flush(struct view *view)
{
	struct state *state = view->state;

	if (!view->settled && state->held > 0)
		lay_out(view);
	for (size_t row = 0; row < state->held; row++) {
		for (size_t i = 0; i < state->shown; i++) {
			const char *cell = state->cells.items[row * view->columns.count + i];

			add_cell(view, i, cell, strlen(cell));
		}
		out_end_line(view->out);
	}
	vec_each(&state->cells, cell)
		free(*cell);
	state->cells.count = 0;
	state->held = 0;
}

static void add_word(struct buf *out, const struct view_column *column, const struct value *value)
{
	for (const struct view_word *word = column->words; word->text; word++)
		if (strlen(word->text) == value->len && memcmp(word->text, value->text, value->len) == 0) {
			buf_add_text(out, word->shown);
			return;
		}
	format_add_value(out, column->ref.field, value);
}

/* Formatted by the field's kind, or as a plain number in the heading's unit. */
static void add_value(struct buf *out, const struct view_column *column, const struct value *value)
{
	if (column->unit && value->class == VALUE_UINT)
		buf_add_format(out, "%.*f", (int)column->decimals, (double)value->uint / (double)column->unit);
	else if (column->unit && value->class == VALUE_INT)
		buf_add_format(out, "%.*f", (int)column->decimals, (double)value->sint / (double)column->unit);
	else if (column->words && value->class == VALUE_TEXT)
		add_word(out, column, value);
	else if (column->unit && value->class == VALUE_REAL)
		buf_add_format(out, "%.*f", (int)column->decimals, value->real / (double)column->unit);
	else
		format_add_value(out, column->ref.field, value);
}

/* Fast path for numbers and addresses, which never need truncation. */
static void write_row(struct view *view, const struct record *record)
{
	struct state *state = view->state;
	struct buf *out = &view->out->pending;

	for (size_t i = 0; i < state->shown; i++) {
		const struct view_column *column = &view->columns.items[i];
		struct value value = record_get(record, column->ref);
		size_t start, width = state->widths.items[i];

		if (!is_plain(column->ref.field)) {
			buf_clear(&view->cell);
			add_value(&view->cell, column, &value);
			add_cell(view, i, buf_text(&view->cell), view->cell.len);
			continue;
		}
		if (i)
			buf_add_char(out, ' ');
		start = out->len;
		add_value(out, column, &value);
		if (to_the_right(column->ref.field))
			align_right(out, start, width);
		else if (i + 1 < state->shown && out->len - start < width)
			buf_add_fill(out, ' ', width - (out->len - start));
	}
	out_end_line(view->out);
}

static void write_record(struct view *view, const struct record *record)
{
	struct state *state = view->state;

	if (view->settled) {
		write_row(view, record);
		return;
	}
	for (size_t i = 0; i < view->columns.count; i++) {
		const struct view_column *column = &view->columns.items[i];
		struct value value = record_get(record, column->ref);

		buf_clear(&view->cell);
		add_value(&view->cell, column, &value);
		vec_push(&state->cells, xstrdup(buf_text(&view->cell)));
	}
	if (++state->held >= HELD_ROWS_MAX)
		flush(view);
}

static void end(struct view *view)
{
	struct state *state = view->state;

	if (!view->settled && view->columns.count > 0)
		lay_out(view); /* a table without rows still shows its header */
	flush(view);
	if (state->shown < view->columns.count) {
		buf_add_format(&view->out->pending, "(%zu more columns: a wider terminal, or -w)",
			       view->columns.count - state->shown);
		out_end_line(view->out);
	}
	vec_done(&state->cells);
	vec_done(&state->widths);
}

static const struct view_class table_view = {
	.name = "table",
	.help = "text for people: aligned, scaled, fitted to the terminal",
	.state_size = sizeof(struct state),
	.record = write_record,
	.flush = flush,
	.end = end,
};
VIEW_CLASS(table_view);
