/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "top/model/board.h"

#include <errno.h>
#include <string.h>

#include "view/format.h"

#define ID_MAX 1024

/* --- columns --- */

static void push_column(struct board *board, const struct top_column *declared, struct field_ref ref)
{
	struct grid_column column = {.ref = ref};

	if (board->columns.count >= BOARD_COLUMNS_MAX)
		return;
	if (declared) {
		column.heading = declared->heading;
		column.adds = declared->adds;
		column.ink = (uint8_t)declared->ink;
		if (declared->instead && shape_find(&board->table->shape, declared->instead, &column.instead) < 0)
			column.instead.field = NULL;
	}
	board->widths[board->columns.count] = 0;
	vec_push(&board->columns, column);
}

static const struct top_column *declared_column(const struct top_table *table, const char *field)
{
	for (const struct top_column *column = table->columns; column && column->field; column++)
		if (strcmp(column->field, field) == 0)
			return column;
	return NULL;
}

static void default_columns(struct board *board)
{
	const struct top_table *table = board->table;
	struct field_ref ref = {};

	for (const struct top_column *column = table->columns; column && column->field; column++)
		if (shape_find(&table->shape, column->field, &ref) == 0)
			push_column(board, column, ref);
	ref = (struct field_ref){};
	while (!table->columns && shape_next(&table->shape, &ref))
		if (!ref.field->hidden)
			push_column(board, NULL, ref);
}

bool board_set_columns(struct board *board, const char *names)
{
	_cleanup_free_ char *copy = xstrdup(names);
	char *rest = copy, *name;
	struct field_ref ref;
	bool any = false;

	while ((name = strsep(&rest, ",")))
		if (shape_find(&board->table->shape, name, &ref) < 0)
			return false;
	board->columns.count = 0;
	board->first_column = 0;
	memcpy(copy, names, strlen(names));
	rest = copy;
	while ((name = strsep(&rest, ",")))
		if (shape_find(&board->table->shape, name, &ref) == 0) {
			push_column(board, declared_column(board->table, ref.field->name), ref);
			any = true;
		}
	return any;
}

void board_add_columns(const struct board *board, struct buf *out)
{
	vec_each(&board->columns, column)
		buf_add_format(out, "%s%s", column == board->columns.items ? "" : ",", column->ref.field->name);
}

void board_toggle_column(struct board *board, struct field_ref ref)
{
	size_t kept = 0;
	bool had = false;

	board->changed = true;
	vec_each(&board->columns, column) {
		bool same = column->ref.field == ref.field && column->ref.part == ref.part;

		had = had || same;
		if (!same || board->columns.count == 1)
			board->columns.items[kept++] = *column;
	}
	board->columns.count = kept;
	if (!had)
		push_column(board, declared_column(board->table, ref.field->name), ref);
	memset(board->widths, 0, sizeof(board->widths));
}

/* --- choice --- */

struct board *board_new(const struct top_table *table)
{
	struct board *board = xzalloc(sizeof(*board));

	board->table = table;
	board->tree = BOARD_FLAT;
	board->selected_id = BUF_INIT(ID_MAX);
	board->state = table->state_size ? xzalloc(table->state_size) : NULL;
	grid_init(&board->grid, &table->shape);
	default_columns(board);
	if (table->sort)
		(void)board_set_sort(board, table->sort);
	board_show_all(board, false);
	return board;
}

void board_free(struct board *board)
{
	if (!board)
		return;
	if (board->table->release)
		board->table->release(board->state);
	free(board->state);
	free(board->where);
	free(board->always);
	buf_done(&board->selected_id);
	vec_done(&board->columns);
	grid_done(&board->grid);
	free(board);
}

/* Both conditions in one expression. */
static int parse_where(struct board *board, const char *text, struct expr **ret_expr, struct why *why)
{
	bool own = text && *text;
	_cleanup_free_ char *both = NULL;
	int r;

	*ret_expr = NULL;
	/* First alone: the caret of an error is below what was typed. */
	r = own ? expr_parse(text, &board->table->shape, ret_expr, why) : 0;
	if (r < 0 || !board->always)
		return r;
	expr_free(take_ptr(*ret_expr));
	both = own ? xasprintf("(%s) and (%s)", board->always, text) : xstrdup(board->always);
	return expr_parse(both, &board->table->shape, ret_expr, why);
}

/* Whoever filters by the field that rows are hidden by has chosen. */
static void set_hide(struct board *board)
{
	struct field_ref ref = {};
	struct expr *hide = NULL;
	struct why why = {};
	bool chosen = false;

	expr_free(take_ptr(board->grid.hide));
	if (board->all || !board->table->hide || expr_parse(board->table->hide, &board->table->shape, &hide, &why) < 0)
		return;
	while (board->grid.where && shape_next(&board->table->shape, &ref))
		chosen = chosen || (expr_uses(hide, ref) && expr_uses(board->grid.where, ref));
	if (chosen)
		expr_free(hide);
	else
		board->grid.hide = hide;
}

void board_show_all(struct board *board, bool all)
{
	board->all = all;
	set_hide(board);
	board_arrange(board);
}

int board_set_where(struct board *board, const char *text, struct why *why)
{
	struct expr *where;
	int r = parse_where(board, text, &where, why);

	if (r < 0)
		return r;
	expr_free(board->grid.where);
	board->grid.where = where;
	free(board->where);
	board->where = text && *text ? xstrdup(text) : NULL;
	set_hide(board);
	board_arrange(board);
	return 0;
}

void board_set_always(struct board *board, const char *text)
{
	struct expr *where = NULL;
	struct why why = {};

	if (!text || !*text || expr_parse(text, &board->table->shape, &where, &why) < 0)
		return;
	expr_free(board->grid.where);
	board->grid.where = where;
	board->always = xstrdup(text);
	set_hide(board);
}

bool board_set_sort(struct board *board, const char *text)
{
	struct field_ref ref;

	if (shape_find(&board->table->shape, *text == '-' ? text + 1 : text, &ref) < 0)
		return false;
	board->grid.sort = ref;
	board->grid.descending = *text == '-';
	return true;
}

bool board_set_tree(struct board *board, const char *field)
{
	board->tree = BOARD_FLAT;
	board->grid.tree = (struct field_ref){};
	for (uint32_t i = 0; field && i < TOP_TREES_MAX && board->table->trees[i]; i++)
		if (strcmp(board->table->trees[i], field) == 0 &&
		    shape_find(&board->table->shape, field, &board->grid.tree) == 0)
			board->tree = i;
	return !field || board->tree != BOARD_FLAT;
}

/* --- rows and selection --- */

void board_add_id(const struct board *board, const struct record *record, struct buf *out)
{
	for (unsigned i = 0; i < TOP_IDS_MAX && board->table->id[i]; i++) {
		struct field_ref ref;
		struct value value;

		if (shape_find(&board->table->shape, board->table->id[i], &ref) < 0)
			continue;
		value = record_get(record, ref);
		format_add_value(out, ref.field, &value);
		buf_add_char(out, '\n');
	}
}

static bool has_id(const struct board *board, uint32_t row, const char *id)
{
	_cleanup_buf_ struct buf own = BUF_INIT(ID_MAX);
	struct record record = grid_record(&board->grid, row);

	board_add_id(board, &record, &own);
	return strcmp(buf_text(&own), id) == 0;
}

uint32_t board_find(const struct board *board, const char *id)
{
	for (uint32_t row = 0; *id && row < board->grid.count; row++)
		if (has_id(board, row, id))
			return row;
	return UINT32_MAX;
}

static void remember(struct board *board)
{
	struct record record;

	buf_clear(&board->selected_id);
	if (board_record(board, &record))
		board_add_id(board, &record, &board->selected_id);
}

/* The line of the row that was selected, wherever it is now. */
static void follow(struct board *board)
{
	const struct grid_line *line = board_line(board);
	const char *id = buf_text(&board->selected_id);
	uint32_t row;

	if (!*id || (line && line->row != UINT32_MAX && has_id(board, line->row, id)))
		return;
	row = board_find(board, id);
	for (uint32_t i = 0; row != UINT32_MAX && i < board->grid.lines.count; i++)
		if (board->grid.lines.items[i].row == row)
			board->selected = i;
}

void board_arrange(struct board *board)
{
	uint32_t at_top = board->selected;

	grid_arrange(&board->grid);
	/* At the top one stays at the top, as in top(1): what is largest now is what one looks at. */
	if (at_top > 0)
		follow(board);
	board_move(board, 0);
}

void board_fill(struct board *board, const struct top_moment *moment)
{
	grid_clear(&board->grid);
	board->table->fill(&board->grid, moment, board->state);
	board_arrange(board);
}

void board_select(struct board *board, uint32_t line)
{
	size_t count = board->grid.lines.count;

	board->selected = count == 0 ? 0 : (uint32_t)min_of((size_t)line, count - 1);
	remember(board);
}

void board_move(struct board *board, int64_t lines)
{
	int64_t at = (int64_t)board->selected + lines;

	board_select(board, (uint32_t)max_of(at, (int64_t)0));
}

const struct grid_line *board_line(const struct board *board)
{
	return board->selected < board->grid.lines.count ? &board->grid.lines.items[board->selected] : NULL;
}

bool board_record(const struct board *board, struct record *ret_record)
{
	const struct grid_line *line = board_line(board);

	if (!line || line->row == UINT32_MAX)
		return false;
	*ret_record = grid_record(&board->grid, line->row);
	return true;
}

/* Which columns may hold the text: names, addresses and identifiers, not figures that change all the time. */
static bool is_searched(const struct field *field, const char *text)
{
	size_t len = strlen(text);

	switch (field->kind) {
	case KIND_TEXT:
	case KIND_ENUM:
		return true;
	case KIND_ADDR:
	case KIND_ENDPOINT:
		return strspn(text, "0123456789abcdefABCDEF.:[]") == len;
	case KIND_ID:
		return field->names || strspn(text, "0123456789") == len;
	default:
		return false;
	}
}

static bool line_contains(const struct board *board, const struct grid_line *line, const char *text)
{
	_cleanup_buf_ struct buf cells = BUF_INIT(65536);

	if (line->row == UINT32_MAX)
		return strcasestr(board->grid.groups.items[line->group].name, text) != NULL;
	vec_each(&board->columns, column) {
		const struct field *field;
		struct value value;

		if (!is_searched(column->ref.field, text))
			continue;
		value = grid_value(&board->grid, column, line->row, &field);
		format_add_value(&cells, field, &value);
		buf_add_char(&cells, ' ');
	}
	return strcasestr(buf_text(&cells), text) != NULL;
}

bool board_search(struct board *board, const char *text, bool next)
{
	size_t count = board->grid.lines.count;

	for (size_t i = next ? 1 : 0; *text && i < count + next; i++) {
		uint32_t at = (uint32_t)((board->selected + i) % count);

		if (line_contains(board, &board->grid.lines.items[at], text)) {
			board_select(board, at);
			return true;
		}
	}
	return false;
}

void board_add_command(const struct board *board, struct buf *out)
{
	const struct top_table *table = board->table;

	if (table->command && !*table->command)
		return;
	if (table->command)
		buf_add_text(out, table->command);
	else if (table->types && table->types[0])
		buf_add_format(out, "tables %s", table->types[0]->name);
	if (board->where && board->always)
		buf_add_format(out, " --where '(%s) and (%s)'", board->always, board->where);
	else if (board->where || board->always)
		buf_add_format(out, " --where '%s'", board->where ?: board->always);
}
