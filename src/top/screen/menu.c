/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "top/screen/menu.h"

#include <stdarg.h>
#include <string.h>

#include "base/text.h"
#include "view/format.h"

void menu_close(struct screen *screen)
{
	vec_each(&screen->menu.items, item) {
		free(item->label);
		free(item->value);
	}
	screen->menu.items.count = 0;
	screen->menu.at = screen->menu.first = 0;
	screen->menu.stays = false;
	screen->menu.moved = NULL;
}

void menu_open(struct screen *screen, const char *title, void (*chosen)(struct screen *screen, const char *value))
{
	menu_close(screen);
	screen->menu.title = title;
	screen->menu.chosen = chosen;
}

void menu_add(struct screen *screen, bool marked, const char *value, const char *format, ...)
{
	va_list args;
	char *label;

	va_start(args, format);
	label = xvasprintf(format, args);
	va_end(args);
	if (marked && !screen->menu.stays)
		screen->menu.at = screen->menu.items.count;
	vec_push(&screen->menu.items, (struct menu_item){label, xstrdup(value), marked});
}

bool menu_is_open(const struct screen *screen)
{
	return screen->menu.items.count > 0;
}

static void choose(struct screen *screen)
{
	struct menu *menu = &screen->menu;
	_cleanup_free_ char *value = xstrdup(menu->items.items[menu->at].value);

	if (menu->stays)
		menu->items.items[menu->at].marked = !menu->items.items[menu->at].marked;
	else
		menu_close(screen);
	menu->chosen(screen, value);
}

/* The next item that begins with the letter. */
static void jump(struct menu *menu, uint32_t key)
{
	for (size_t i = 1; i <= menu->items.count; i++) {
		size_t at = (menu->at + i) % menu->items.count;

		if ((uint32_t)(unsigned char)menu->items.items[at].label[0] == key) {
			menu->at = at;
			return;
		}
	}
}

static void shift(struct screen *screen, int direction)
{
	struct menu *menu = &screen->menu;
	size_t other = menu->at + (size_t)direction;
	struct menu_item item;

	if (!menu->moved || other >= menu->items.count)
		return;
	menu->moved(screen, menu->items.items[menu->at].value, direction);
	item = menu->items.items[menu->at];
	menu->items.items[menu->at] = menu->items.items[other];
	menu->items.items[other] = item;
	menu->at = other;
}

void menu_press(struct screen *screen, uint32_t key)
{
	struct menu *menu = &screen->menu;
	size_t last = menu->items.count - 1;

	if (key == KEY_GO_UP || key == KEY_WHEEL_UP)
		menu->at -= menu->at > 0;
	else if (key == KEY_GO_DOWN || key == KEY_WHEEL_DOWN)
		menu->at += menu->at < last;
	else if (key == KEY_PAGE_UP)
		menu->at = menu->at > 10 ? menu->at - 10 : 0;
	else if (key == KEY_PAGE_DOWN)
		menu->at = min_of(menu->at + 10, last);
	else if (key == KEY_GO_HOME)
		menu->at = 0;
	else if (key == KEY_GO_END)
		menu->at = last;
	else if (key == '[' || key == ']')
		shift(screen, key == '[' ? -1 : 1);
	else if (key == KEY_RETURN || key == ' ')
		choose(screen);
	else if (key == KEY_ESCAPE || key == 'q' || key == KEY_DELETE_BACK)
		menu_close(screen);
	else if (key < 128)
		jump(menu, key);
}

static unsigned widest(const struct menu *menu)
{
	size_t width = strlen(menu->title);

	vec_each(&menu->items, item)
		width = max_of(width, text_columns(item->label, strlen(item->label)));
	return (unsigned)min_of(width, (size_t)200);
}

static void draw_item(struct screen *screen, struct canvas *canvas, size_t number, const struct area *line)
{
	const struct menu *menu = &screen->menu;
	const struct menu_item *item = &menu->items.items[number];
	enum ink ink = number == menu->at ? INK_SELECTED : INK_PLAIN;

	canvas_fill(canvas, line, ink);
	if (menu->stays)
		canvas_text(canvas, line->x + 1, line->y, 3, ink, item->marked ? "[x]" : "[ ]");
	canvas_text(canvas, line->x + (menu->stays ? 5 : 1), line->y, line->width - (menu->stays ? 6 : 2), ink,
		    item->label);
}

void menu_draw(struct screen *screen, struct canvas *canvas, const struct area *area)
{
	struct menu *menu = &screen->menu;
	unsigned width = min_of(widest(menu) + (menu->stays ? 6U : 2U), area->width);
	unsigned rows = area->height > 1 ? area->height - 1 : 0;
	struct area line = {area->x, area->y, width, 1};

	if (menu->at < menu->first)
		menu->first = menu->at;
	if (rows > 0 && menu->at >= menu->first + rows)
		menu->first = menu->at - rows + 1;
	canvas_fill(canvas, &line, INK_SORTED);
	canvas_text(canvas, line.x + 1, line.y, width - 1, INK_SORTED, menu->title);
	for (size_t i = 0; i < rows && menu->first + i < menu->items.count; i++) {
		line.y = area->y + 1 + (unsigned)i;
		draw_item(screen, canvas, menu->first + i, &line);
	}
	/* A blank column, so that the page does not run into the list. */
	canvas_fill(canvas, &(struct area){area->x + width, area->y, 1, min_of(rows, (unsigned)menu->items.count) + 1},
		    INK_PLAIN);
}

/* --- the menus --- */

static void add_field(struct screen *screen, bool marked, const struct field *field)
{
	menu_add(screen, marked, field->name, "%-18s %s", field->name, field->help);
}

static void sort_chosen(struct screen *screen, const char *value)
{
	struct board *board = screen_board(screen);
	struct field_ref ref;

	if (!board || shape_find(&board->table->shape, value, &ref) < 0)
		return;
	/* The same again turns it round; figures begin with the largest, names with the first. */
	if (board->grid.sort.field == ref.field)
		board->grid.descending = !board->grid.descending;
	else
		board->grid.descending = ref.field->kind != KIND_TEXT && ref.field->kind != KIND_ADDR;
	board->grid.sort = ref;
	board->changed = true;
	board_arrange(board);
}

void menu_sort(struct screen *screen)
{
	const struct board *board = screen_board(screen);

	if (!board)
		return;
	menu_open(screen, "Sort by", sort_chosen);
	vec_each(&board->columns, column)
		add_field(screen, column->ref.field == board->grid.sort.field, column->ref.field);
}

static void column_chosen(struct screen *screen, const char *value)
{
	struct board *board = screen_board(screen);
	struct field_ref ref;

	if (board && shape_find(&board->table->shape, value, &ref) == 0)
		board_toggle_column(board, ref);
}

static void column_moved(struct screen *screen, const char *value, int direction)
{
	struct board *board = screen_board(screen);

	for (size_t i = 0; board && i < board->columns.count; i++) {
		size_t other = i + (size_t)direction;
		struct grid_column column = board->columns.items[i];

		if (strcmp(column.ref.field->name, value) != 0 || other >= board->columns.count)
			continue;
		board->columns.items[i] = board->columns.items[other];
		board->columns.items[other] = column;
		memset(board->widths, 0, sizeof(board->widths));
		board->changed = true;
		return;
	}
}

static bool is_column(const struct board *board, struct field_ref ref)
{
	vec_each(&board->columns, column)
		if (column->ref.field == ref.field && column->ref.part == ref.part)
			return true;
	return false;
}

void menu_columns(struct screen *screen)
{
	const struct board *board = screen_board(screen);
	struct field_ref ref = {};

	if (!board)
		return;
	menu_open(screen, "Columns: Enter in or out, [ ] move", column_chosen);
	screen->menu.stays = true;
	screen->menu.moved = column_moved;
	vec_each(&board->columns, column)
		add_field(screen, true, column->ref.field);
	while (shape_next(&board->table->shape, &ref))
		if (!is_column(board, ref) && ref.field->kind != KIND_STACK)
			add_field(screen, false, ref.field);
}

static void table_chosen(struct screen *screen, const char *value)
{
	const struct top_table *table = screen_find_table(screen, value);

	if (table)
		screen_show_table(screen, table);
}

void menu_tables(struct screen *screen)
{
	const struct board *board = screen_board(screen);

	menu_open(screen, "Tables", table_chosen);
	vec_each(&screen->tables, table)
		menu_add(screen, board && board->table == *table, (*table)->name, "%-15s %s", (*table)->name,
			 (*table)->help);
}

static void tree_chosen(struct screen *screen, const char *value)
{
	struct board *board = screen_board(screen);

	if (!board)
		return;
	(void)board_set_tree(board, *value ? value : NULL);
	board->changed = true;
	board_arrange(board);
}

void menu_trees(struct screen *screen)
{
	const struct board *board = screen_board(screen);

	if (!board)
		return;
	if (!board->table->trees[0]) {
		screen_say(screen, "%s has nothing to group by", board->table->name);
		return;
	}
	menu_open(screen, "Tree by", tree_chosen);
	menu_add(screen, board->tree == BOARD_FLAT, "", "no tree");
	for (uint32_t i = 0; i < TOP_TREES_MAX && board->table->trees[i]; i++)
		menu_add(screen, board->tree == i, board->table->trees[i], "%s", board->table->trees[i]);
}

static void theme_chosen(struct screen *screen, const char *value)
{
	screen->theme = theme_find(value) ?: screen->theme;
	screen->changed = true;
}

void menu_themes(struct screen *screen)
{
	size_t count;
	_cleanup_free_ const struct theme **themes = theme_list(&count);

	menu_open(screen, "Theme", theme_chosen);
	for (size_t i = 0; i < count; i++)
		menu_add(screen, themes[i] == screen->theme, themes[i]->name, "%-10s %s", themes[i]->name,
			 themes[i]->help);
}
