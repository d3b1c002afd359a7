/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "top/screen/board_view.h"

#include "base/text.h"
#include "view/format.h"

#define TEXT_WIDTH_MAX 36 /* of a column of text that is not the last */
#define INDENT         2  /* of rows in a tree */

/* Where a column is drawn. */
struct place {
	unsigned x, width;
	size_t column;
};

struct layout {
	struct place places[BOARD_COLUMNS_MAX];
	unsigned count;
};

static bool to_the_right(const struct field *field)
{
	switch (field->kind) {
	case KIND_COUNT:
	case KIND_BYTES:
	case KIND_DURATION:
	case KIND_RATIO:
		return true;
	case KIND_ID:
		return !field->names;
	default:
		return false;
	}
}

static void add_heading(const struct grid_column *column, struct buf *out)
{
	if (column->heading)
		buf_add_text(out, column->heading);
	else
		format_add_heading(out, column->ref.field);
}

/* --- cells --- */

static bool is_nothing(const struct value *value)
{
	return value->class == VALUE_UNKNOWN || (value->class == VALUE_UINT && value->uint == 0) ||
	       (value->class == VALUE_INT && value->sint == 0) || (value->class == VALUE_REAL && value->real == 0);
}

/* The text of a cell, and its ink. */
static enum ink add_cell(struct board *board, const struct grid_column *column, const struct grid_line *line,
			 struct buf *out)
{
	struct grid *grid = &board->grid;
	const struct field *field = column->ref.field;
	struct value value;

	if (line->row != UINT32_MAX)
		value = grid_value(grid, column, line->row, &field);
	else if (column->adds)
		value = grid_sum(grid, column, &grid->groups.items[line->group]);
	else
		return INK_PLAIN;
	if (line->row == UINT32_MAX && value.class == VALUE_UNKNOWN)
		return INK_PLAIN;
	/* Enums and identifiers with names are words: zero is one of them. */
	format_add_value(out, field, &value);
	if (value.class == VALUE_UNKNOWN)
		return INK_DIM;
	if (field->kind != KIND_ENUM && field->kind != KIND_FLAGS && is_nothing(&value))
		return INK_DIM;
	return line->row == UINT32_MAX ? INK_GROUP : (enum ink)column->ink;
}

/* --- layout --- */

static uint32_t visible_end(const struct board *board, unsigned rows)
{
	return (uint32_t)min_of((size_t)board->first + rows, board->grid.lines.count);
}

/* The selected line stays in sight. */
static void scroll(struct board *board, unsigned rows)
{
	if (board->selected < board->first)
		board->first = board->selected;
	if (rows > 0 && board->selected >= board->first + rows)
		board->first = board->selected - rows + 1;
	if (board->first + rows > board->grid.lines.count)
		board->first = board->grid.lines.count > rows ? (uint32_t)(board->grid.lines.count - rows) : 0;
}

static void measure(struct board *board, size_t number, unsigned rows)
{
	const struct grid_column *column = &board->columns.items[number];
	_cleanup_buf_ struct buf cell = BUF_INIT(4096);
	unsigned *width = &board->widths[number];
	bool wide = !to_the_right(column->ref.field) && column->ref.field->kind == KIND_TEXT;

	add_heading(column, &cell);
	*width = max_of(*width, (unsigned)cell.len);
	for (uint32_t i = board->first; i < visible_end(board, rows); i++) {
		unsigned columns;

		buf_clear(&cell);
		(void)add_cell(board, column, &board->grid.lines.items[i], &cell);
		columns = (unsigned)text_columns(buf_text(&cell), cell.len);
		*width = max_of(*width, wide ? min_of(columns, (unsigned)TEXT_WIDTH_MAX) : columns);
	}
}

/* The widest visible cell of a column of text, however long. */
static unsigned full_width(struct board *board, size_t number, unsigned rows)
{
	const struct grid_column *column = &board->columns.items[number];
	_cleanup_buf_ struct buf cell = BUF_INIT(4096);
	unsigned width = 0;

	for (uint32_t i = board->first; i < visible_end(board, rows); i++) {
		buf_clear(&cell);
		(void)add_cell(board, column, &board->grid.lines.items[i], &cell);
		width = max_of(width, (unsigned)text_columns(buf_text(&cell), cell.len));
	}
	return width;
}

/* Columns of text that are cut get what the line has left, from the left. */
static void widen(struct board *board, const struct area *area, unsigned rows, struct layout *layout)
{
	const struct place *last = layout->count > 0 ? &layout->places[layout->count - 1] : NULL;
	unsigned end = area->x + area->width, needed, left;

	if (!last)
		return;
	/* The last column has taken all that is left; it keeps what others would have. */
	needed = min_of(full_width(board, last->column, rows), (unsigned)TEXT_WIDTH_MAX);
	needed = min_of(max_of(needed, board->widths[last->column]), last->width);
	left = end - (last->x + needed);
	for (unsigned i = 0; i + 1 < layout->count && left > 0; i++) {
		struct place *place = &layout->places[i];
		unsigned more;

		if (place->width < TEXT_WIDTH_MAX || board->columns.items[place->column].ref.field->kind != KIND_TEXT)
			continue;
		more = full_width(board, place->column, rows);
		more = more > place->width ? min_of(more - place->width, left) : 0;
		place->width += more;
		left -= more;
		for (unsigned k = i + 1; k < layout->count; k++)
			layout->places[k].x += more;
	}
	layout->places[layout->count - 1].width =
		min_of(layout->places[layout->count - 1].width, end - layout->places[layout->count - 1].x);
}

/* As many columns as fit; the last one, if it is text, gets what is left. */
static void lay_out(struct board *board, const struct area *area, unsigned rows, struct layout *layout)
{
	unsigned indent = board->grid.tree.field ? INDENT : 0, x = area->x + 1 + indent, end = area->x + area->width;

	layout->count = 0;
	if (board->first_column >= board->columns.count)
		board->first_column = 0;
	for (size_t i = board->first_column; i < board->columns.count && x < end; i++) {
		const struct field *field = board->columns.items[i].ref.field;
		bool last = i + 1 == board->columns.count;
		unsigned width;

		measure(board, i, rows);
		width = board->widths[i];
		if (last && field->kind == KIND_TEXT)
			width = end - x;
		if (x + width > end && (layout->count > 0 || last) && !(field->kind == KIND_TEXT && x + 12 <= end))
			break;
		width = min_of(width, end - x);
		layout->places[layout->count++] = (struct place){x, width, i};
		x += width + 1;
	}
	widen(board, area, rows, layout);
}

/* --- drawing --- */

static void draw_heading(struct screen *screen, struct canvas *canvas, struct board *board, const struct layout *layout,
			 const struct area *area)
{
	canvas_fill(canvas, &(struct area){area->x, area->y, area->width, 1}, INK_HEADING);
	for (unsigned i = 0; i < layout->count; i++) {
		const struct place *place = &layout->places[i];
		const struct grid_column *column = &board->columns.items[place->column];
		bool sorted = column->ref.field == board->grid.sort.field && column->ref.part == board->grid.sort.part;
		enum ink ink = sorted ? INK_SORTED : INK_HEADING;
		_cleanup_buf_ struct buf text = BUF_INIT(256);

		add_heading(column, &text);
		if (sorted)
			canvas_colour(canvas, place->x, area->y, place->width, INK_SORTED);
		if (to_the_right(column->ref.field))
			canvas_put_right(canvas, place->x, area->y, place->width, ink, text.data, text.len);
		else
			canvas_put(canvas, place->x, area->y, place->width, ink, text.data, text.len);
		screen_add_hit(screen, (struct screen_hit){.area = {place->x, area->y, place->width, 1},
							   .board = board,
							   .line = UINT32_MAX,
							   .column = (uint32_t)place->column});
	}
}

/* A node of the tree: its name up to the first sum. */
static void draw_group(struct canvas *canvas, const struct board *board, const struct layout *layout, unsigned y,
		       const struct grid_line *line, const struct area *area)
{
	const struct grid_group *group = &board->grid.groups.items[line->group];
	unsigned end = area->x + area->width;
	_cleanup_buf_ struct buf name = BUF_INIT(4096);

	for (unsigned i = layout->count; i-- > 0;)
		if (board->columns.items[layout->places[i].column].adds)
			end = layout->places[i].x;
	buf_add_format(&name, "%s %s (%u)", canvas->utf8 ? (group->folded ? "▸" : "▾") : (group->folded ? "+" : "-"),
		       group->name, group->count);
	canvas_put(canvas, area->x + 1, y, end > area->x + 2 ? end - area->x - 2 : 0, INK_GROUP, name.data, name.len);
}

static void draw_line(struct canvas *canvas, struct board *board, const struct layout *layout, unsigned y,
		      const struct grid_line *line, const struct area *area)
{
	_cleanup_buf_ struct buf cell = BUF_INIT(65536);

	if (line->row == UINT32_MAX)
		draw_group(canvas, board, layout, y, line, area);
	for (unsigned i = 0; i < layout->count; i++) {
		const struct place *place = &layout->places[i];
		const struct grid_column *column = &board->columns.items[place->column];
		enum ink ink;

		buf_clear(&cell);
		ink = add_cell(board, column, line, &cell);
		if (cell.len == 0)
			continue;
		if (to_the_right(column->ref.field))
			canvas_put_right(canvas, place->x, y, place->width, ink, cell.data, cell.len);
		else
			canvas_put(canvas, place->x, y, place->width, ink, cell.data, cell.len);
	}
}

void board_view_draw(struct screen *screen, struct canvas *canvas, struct board *board, const struct area *area,
		     bool focused)
{
	unsigned rows = area->height > 1 ? area->height - 1 : 0;
	struct layout layout;

	if (area->height == 0)
		return;
	scroll(board, rows);
	lay_out(board, area, rows, &layout);
	draw_heading(screen, canvas, board, &layout, area);
	for (uint32_t i = board->first; i < visible_end(board, rows); i++) {
		unsigned y = area->y + 1 + (i - board->first);

		draw_line(canvas, board, &layout, y, &board->grid.lines.items[i], area);
		if (focused && i == board->selected)
			canvas_colour(canvas, area->x, y, area->width, INK_SELECTED);
		screen_add_hit(screen,
			       (struct screen_hit){.area = {area->x, y, area->width, 1}, .board = board, .line = i});
	}
	if (board->grid.lines.count == 0 && rows > 0)
		canvas_text(canvas, area->x + 1, area->y + 1, area->width, INK_DIM,
			    board->grid.hidden      ? "nothing to show but hidden rows"
			    : board->grid.count > 0 ? "no row matches the filter"
						    : "nothing to show");
}

void board_view_add_info(const struct board *board, struct buf *out)
{
	const struct grid *grid = &board->grid;

	buf_add_format(out, " %s  ", board->table->name);
	if (grid->order.count + grid->hidden != grid->count)
		buf_add_format(out, "%zu of ", grid->order.count);
	buf_add_format(out, "%zu row%s", grid->count - grid->hidden, grid->count - grid->hidden == 1 ? "" : "s");
	if (grid->hidden)
		buf_add_format(out, ", %zu %s hidden (a shows them)", grid->hidden, board->table->hidden);
	if (grid->refused)
		buf_add_format(out, ", %llu beyond the limit", (unsigned long long)grid->refused);
	if (grid->sort.field)
		buf_add_format(out, ", by %s%s", grid->sort.field->name, grid->descending ? " (largest first)" : "");
	if (grid->tree.field)
		buf_add_format(out, ", tree by %s", grid->tree.field->name);
	if (board->always)
		buf_add_format(out, ", %s", board->always);
	if (board->where)
		buf_add_format(out, ", filter: %s", board->where);
}
