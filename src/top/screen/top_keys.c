/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "top/screen/top_keys.h"

#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "run/command.h"
#include "top/screen/detail.h"
#include "top/screen/heat_command.h"
#include "top/screen/menu.h"
#include "top/screen/prompt.h"

/* --- moving --- */

/* Lines of a page that scrolls without a selection. */
static void scroll_page(struct screen *screen, int64_t lines)
{
	struct screen_page *page = screen_shown(screen);
	int64_t at = (int64_t)page->scroll + lines, last = (int64_t)page->lines - screen->body_height;

	if (page->pane)
		pane_scroll(page->pane, lines, screen->body_height > 1 ? screen->body_height - 1 : 1);
	else
		page->scroll = (unsigned)max_of(min_of(at, last), (int64_t)0);
}

static void move(struct screen *screen, int64_t lines)
{
	struct board *board = screen_board(screen);
	struct screen_page *page = screen_shown(screen);
	int64_t link = (int64_t)page->link + lines, count = (int64_t)page->links.items.count;

	if (board)
		board_move(board, lines);
	else if (page->kind == PAGE_DETAIL && link >= 0 && link < count && (lines == 1 || lines == -1))
		page->link = (unsigned)link;
	else
		scroll_page(screen, lines);
}

static void go_line(struct screen *screen, uint32_t key)
{
	move(screen, key == KEY_GO_UP || key == 'k' ? -1 : 1);
}

static void go_wheel(struct screen *screen, uint32_t key)
{
	if (screen_board(screen))
		move(screen, key == KEY_WHEEL_UP ? -3 : 3);
	else
		scroll_page(screen, key == KEY_WHEEL_UP ? -3 : 3);
}

static void go_page(struct screen *screen, uint32_t key)
{
	int64_t lines = max_of((int64_t)screen->body_height - 2, (int64_t)1);

	move(screen, key == KEY_PAGE_UP || key == KEY_CTRL('B') ? -lines : lines);
}

static void go_end(struct screen *screen, uint32_t key)
{
	move(screen, key == KEY_GO_HOME || key == 'g' ? -(INT64_C(1) << 32) : INT64_C(1) << 32);
}

static void go_side(struct screen *screen, uint32_t key)
{
	struct board *board = screen_board(screen);

	if (board && key == KEY_GO_LEFT)
		board->first_column -= board->first_column > 0;
	else if (board && board->first_column + 1 < board->columns.count)
		board->first_column++;
}

static void go_next_page(struct screen *screen, uint32_t key)
{
	struct screen_page *page = screen_shown(screen);
	unsigned step = key == KEY_BACKTAB ? OVERVIEW_BOARDS - 1 : 1;

	if (page->kind == PAGE_OVERVIEW)
		page->focus = (page->focus + step) % OVERVIEW_BOARDS;
}

/* --- pages --- */

static void show_table(struct screen *screen, uint32_t key)
{
	if (key == '1') {
		screen_show_overview(screen);
		return;
	}
	vec_each(&screen->tables, table)
		if ((*table)->key && (uint32_t)(*table)->key == key) {
			screen_show_table(screen, *table);
			return;
		}
}

static void open_row(struct screen *screen, uint32_t key _unused_)
{
	struct board *board = screen_board(screen);
	struct screen_page *page = screen_shown(screen);
	const struct grid_line *line = board ? board_line(board) : NULL;
	struct top_links links = {};
	struct record record;

	if (page->kind == PAGE_DETAIL) {
		detail_follow(screen, page);
	} else if (line && line->row == UINT32_MAX) {
		grid_fold(&board->grid, line->group);
	} else if (line && board->table->runs && board_record(board, &record)) {
		board->table->links(&record, &links);
		if (links.items.count > 0)
			screen_push_command(screen, links.items.items[0].command);
		top_links_done(&links);
	} else if (line) {
		screen_push_detail(screen);
	}
}

static void go_back(struct screen *screen, uint32_t key _unused_)
{
	struct board *board = screen_board(screen);
	struct why why = {};

	if (screen_back(screen))
		return;
	if (board && board->where) {
		if (board_set_where(board, NULL, &why) < 0)
			screen_complain(screen, "%s", why.text);
	} else if (screen_shown(screen)->kind != PAGE_OVERVIEW) {
		screen_show_overview(screen);
	}
}

static void show_help(struct screen *screen, uint32_t key _unused_)
{
	screen_push_help(screen);
}

static void quit(struct screen *screen, uint32_t key _unused_)
{
	screen->quit = true;
}

/* --- tables --- */

static void search(struct screen *screen, uint32_t key _unused_)
{
	prompt_open(screen, PROMPT_SEARCH);
}

static void search_next(struct screen *screen, uint32_t key _unused_)
{
	prompt_search_next(screen);
}

static void filter(struct screen *screen, uint32_t key _unused_)
{
	prompt_open(screen, PROMPT_FILTER);
}

static void tree(struct screen *screen, uint32_t key _unused_)
{
	struct board *board = screen_board(screen);

	if (!board)
		return;
	if (board->tree != BOARD_FLAT)
		(void)board_set_tree(board, NULL);
	else if (!board->table->trees[0] || !board_set_tree(board, board->table->trees[0]))
		screen_say(screen, "%s has nothing to group by", board->table->name);
	board->changed = true;
	board_arrange(board);
}

static void tree_by(struct screen *screen, uint32_t key _unused_)
{
	menu_trees(screen);
}

static void fold(struct screen *screen, uint32_t key)
{
	struct board *board = screen_board(screen);
	const struct grid_line *line = board ? board_line(board) : NULL;

	if (!board || !board->grid.tree.field)
		return;
	if (key == '*')
		grid_fold_all(&board->grid, true);
	else if (key == '+')
		grid_fold_all(&board->grid, false);
	else if (line && line->group != UINT32_MAX)
		grid_fold(&board->grid, line->group);
	board_move(board, 0);
}

static void sort(struct screen *screen, uint32_t key _unused_)
{
	menu_sort(screen);
}

/* The column before or after the one that rows are sorted by. */
static void sort_side(struct screen *screen, uint32_t key)
{
	struct board *board = screen_board(screen);
	size_t at = 0;

	if (!board || board->columns.count == 0)
		return;
	for (size_t i = 0; i < board->columns.count; i++)
		if (board->columns.items[i].ref.field == board->grid.sort.field)
			at = (i + board->columns.count + (key == '<' ? (size_t)-1 : 1)) % board->columns.count;
	board->grid.sort = board->columns.items[at].ref;
	board->changed = true;
	board_arrange(board);
}

static void reverse(struct screen *screen, uint32_t key _unused_)
{
	struct board *board = screen_board(screen);

	if (!board)
		return;
	board->grid.descending = !board->grid.descending;
	board->changed = true;
	board_arrange(board);
}

static void show_all(struct screen *screen, uint32_t key _unused_)
{
	struct board *board = screen_board(screen);

	if (!board)
		return;
	if (board->table->hide)
		board_show_all(board, !board->all);
	else
		screen_say(screen, "%s hides no rows", board->table->name);
}

static void columns(struct screen *screen, uint32_t key _unused_)
{
	menu_columns(screen);
}

static void tables(struct screen *screen, uint32_t key _unused_)
{
	menu_tables(screen);
}

static void themes(struct screen *screen, uint32_t key _unused_)
{
	menu_themes(screen);
}

static void freeze(struct screen *screen, uint32_t key _unused_)
{
	if (screen->host.hold) {
		screen->host.hold(screen->host.context);
		return;
	}
	screen->frozen = !screen->frozen;
	screen_say(screen, screen->frozen ? "frozen: data is still collected; p continues" : "continued");
}

/* --- beyond the screen --- */

static void run_command(struct screen *screen, uint32_t key _unused_)
{
	prompt_open(screen, PROMPT_RUN);
}

/* The page of the command is replaced. */
static void heat(struct screen *screen, uint32_t key _unused_)
{
	_cleanup_buf_ struct buf command = BUF_INIT(8192);
	struct why why = {};

	if (heat_command_switch(screen_shown(screen)->pane->command, &command, &why) < 0) {
		screen_complain(screen, "%s", why.text);
		return;
	}
	(void)screen_back(screen);
	screen_push_command(screen, buf_text(&command));
}

static void add_link(const struct screen *screen, const struct top_link *link, struct buf *out)
{
	const struct top_table *table = link->table ? screen_find_table(screen, link->table) : NULL;

	if (!table)
		buf_add_text(out, link->command);
	else if (table->command && *table->command)
		buf_add_format(out, "%s --where '%s'", table->command, link->command);
	else if (!table->command && table->types[0])
		buf_add_format(out, "tables %s --where '%s'", table->types[0]->name, link->command);
}

/* The namespace or the recording that the screen shows. */
static void add_source(const struct screen *screen, struct buf *command)
{
	const struct screen_status *status = &screen->status;
	_cleanup_free_ char *name = xstrndup(buf_text(command), strcspn(buf_text(command), " "));

	if (status->file)
		buf_add_format(command, " -f '%s'", status->file);
	else if (status->netns && command_takes_netns(name) && !strstr(buf_text(command), " -N "))
		buf_add_format(command, " -N '%s'", status->netns);
}

static void copy_command(struct screen *screen, uint32_t key _unused_)
{
	_cleanup_buf_ struct buf text = BUF_INIT(8192);
	const struct screen_page *page = screen_shown(screen);
	const struct board *board = screen_board(screen);

	if (page->pane) {
		buf_add_text(&text, page->pane->command);
	} else if (page->kind == PAGE_DETAIL && page->links.items.count > 0) {
		add_link(screen, &page->links.items.items[page->link], &text);
	} else if (board) {
		board_add_command(board, &text);
	}
	if (text.len > 0)
		add_source(screen, &text);
	if (text.len == 0) {
		screen_say(screen, "no command shows the same rows");
		return;
	}
	screen_say(screen, "copied: nest %s", buf_text(&text));
	if (screen->host.copy) {
		_cleanup_free_ char *line = xasprintf("nest %s", buf_text(&text));

		screen->host.copy(screen->host.context, line);
	}
}

static void save(struct screen *screen, uint32_t key _unused_)
{
	if (screen->host.save)
		prompt_open(screen, PROMPT_SAVE);
	else
		screen_say(screen, "nothing is kept: start with --keep 5m");
}

static void suspend(struct screen *screen, uint32_t key _unused_)
{
	if (screen->host.suspend)
		screen->host.suspend(screen->host.context);
}

static void seek(struct screen *screen, uint32_t key)
{
	int64_t step = (int64_t)NSEC_PER_SEC * (key == '[' || key == ']' ? 10 : 60);

	if (screen->host.seek)
		screen->host.seek(screen->host.context, key == '[' || key == '{' ? -step : step);
}

static void seek_to(struct screen *screen, uint32_t key _unused_)
{
	prompt_open(screen, PROMPT_SEEK);
}

static void speed(struct screen *screen, uint32_t key)
{
	if (screen->host.faster)
		screen->host.faster(screen->host.context, key == '(' ? -1 : 1);
}

static void next_finding(struct screen *screen, uint32_t key)
{
	if (screen->host.next_finding && !screen->host.next_finding(screen->host.context, key == 'n' ? 1 : -1))
		screen_say(screen, "no %s finding in this recording", key == 'n' ? "later" : "earlier");
}

/* --- the table --- */

#define F KEY_F_

const struct top_key top_key_table[] = {
	{{F(1), '?', 'h'}, "F1 ? h", "Help", "this page", ON_ALL, show_help},
	{{KEY_RETURN}, "Enter", NULL, "details of a row; follow a link; run a tool", ON_TABLE | ON_DETAIL, open_row},
	{{KEY_DELETE_BACK, KEY_ESCAPE},
	 "Backspace Esc",
	 NULL,
	 "back to the page before; without one: clear the filter",
	 ON_ALL,
	 go_back},
	{{'1', '2', '3', '4'}, "1 2 3 4", NULL, "overview, connections, programs, services", ON_ALL, show_table},
	{{'5', '6', '7', '8'}, "5 6 7 8", NULL, "interfaces, queues, drops, listeners", ON_ALL, show_table},
	{{'9', '0', 'f'}, "9 0 f", NULL, "DNS, tools and events, findings", ON_ALL, show_table},
	{{'T'}, "T", NULL, "list of all tables", ON_ALL, tables},
	{{KEY_TAB_, KEY_BACKTAB}, "Tab Shift-Tab", NULL, "overview: next or previous part", ON_TABLE, go_next_page},
	{{KEY_GO_UP, KEY_GO_DOWN, 'k', 'j'}, "Up Down k j", NULL, "one line", ON_ALL, go_line},
	{{KEY_PAGE_UP, KEY_PAGE_DOWN, KEY_CTRL('B'), KEY_CTRL('F')}, "PgUp PgDn", NULL, "one page", ON_ALL, go_page},
	{{KEY_GO_HOME, KEY_GO_END, 'g', 'G'}, "Home End g G", NULL, "first and last line", ON_ALL, go_end},
	{{KEY_GO_LEFT, KEY_GO_RIGHT}, "Left Right", NULL, "columns that do not fit", ON_TABLE, go_side},
	{{KEY_WHEEL_UP, KEY_WHEEL_DOWN},
	 "mouse",
	 NULL,
	 "click a row, heading, tab or key; wheel scrolls",
	 ON_ALL,
	 go_wheel},
	{{F(2), 'C'}, "F2 C", "Columns", "choose and order columns", ON_TABLE, columns},
	{{F(3), '/'}, "F3 /", "Search", "search in names, addresses and numbers", ON_TABLE | ON_PANE, search},
	{{'&'}, "&", NULL, "next match", ON_TABLE | ON_PANE, search_next},
	{{F(4), '\\'}, "F4 \\", "Filter", "rows for which an expression is true, as --where", ON_TABLE, filter},
	{{'a'}, "a", NULL, "show or hide rows that are hidden by default (TIME_WAIT)", ON_TABLE, show_all},
	{{F(5), 't'}, "F5 t", "Tree", "tree on and off", ON_TABLE, tree},
	{{'b'}, "b", NULL, "tree by another field", ON_TABLE, tree_by},
	{{' ', '-'}, "Space -", NULL, "fold or unfold a node of the tree", ON_TABLE, fold},
	{{'+', '*'}, "+ *", NULL, "unfold all, fold all", ON_TABLE, fold},
	{{F(6), 's'}, "F6 s", "Sort", "sort by a column", ON_TABLE, sort},
	{{'<', '>'}, "< >", NULL, "sort by the column to the left, to the right", ON_TABLE, sort_side},
	{{'I', 'i'}, "I i", NULL, "reverse the order", ON_TABLE, reverse},
	{{'p', 'Z'}, "p Z", "Freeze", "freeze: rows stay as they are, data is still collected", ON_ALL, freeze},
	{{':', '!'}, ": !", "Run", "run a command of nest here", ON_ALL, run_command},
	{{'H'}, "H", "Heat", "a tool or event as a heat map over time, and back", ON_PANE, heat},
	{{'y', 'c'}, "y c", "Copy", "copy the command line that shows the same", ON_ALL, copy_command},
	{{'S', 'w'}, "S w", NULL, "save the last minutes as a recording (--keep)", ON_ALL | ON_LIVE, save},
	{{'[', ']'}, "[ ]", NULL, "10 s back, 10 s forward", ON_ALL | ON_RECORDED, seek},
	{{'{', '}'}, "{ }", NULL, "1 min back, 1 min forward", ON_ALL | ON_RECORDED, seek},
	{{'(', ')'}, "( )", "Speed", "slower, faster", ON_ALL | ON_RECORDED, speed},
	{{'n', 'N'}, "n N", "Finding", "to the next finding, to the one before", ON_ALL | ON_RECORDED, next_finding},
	{{'@'}, "@", NULL, "to a time", ON_ALL | ON_RECORDED, seek_to},
	{{'m'}, "m", NULL, "theme: default, light, mono", ON_ALL, themes},
	{{KEY_CTRL('Z')}, "Ctrl-Z", NULL, "suspend", ON_ALL, suspend},
	{{F(10), 'q'}, "F10 q", "Quit", "quit", ON_ALL, quit},
	{.shown = NULL},
};

#undef F

bool top_keys_works(const struct screen *screen, const struct top_key *key)
{
	if ((key->places & ON_LIVE && !screen->live) || (key->places & ON_RECORDED && screen->live))
		return false;
	return key->places >> screen_shown(screen)->kind & 1;
}

const struct top_key *top_keys_find(const struct screen *screen, uint32_t pressed)
{
	for (const struct top_key *key = top_key_table; key->shown; key++)
		for (size_t i = 0; i < ARRAY_SIZE(key->keys); i++)
			if (key->keys[i] && key->keys[i] == pressed && top_keys_works(screen, key))
				return key;
	return NULL;
}

/* The last one, Quit, always has its place. */
static unsigned last_width(void)
{
	unsigned width = 0;

	for (const struct top_key *key = top_key_table; key->shown; key++)
		if (key->label)
			width = (unsigned)(strcspn(key->shown, " ") + strlen(key->label) + 1);
	return width;
}

static bool is_last(const struct top_key *key)
{
	while ((++key)->shown)
		if (key->label)
			return false;
	return true;
}

void top_keys_draw_bar(struct screen *screen, struct canvas *canvas, const struct area *area)
{
	unsigned x = area->x, end = area->width - min_of(last_width(), area->width);

	canvas_fill(canvas, area, INK_BAR);
	for (const struct top_key *key = top_key_table; key->shown; key++) {
		size_t len = key->label ? strcspn(key->shown, " ") : 0;
		unsigned from = x;

		if (!key->label || !top_keys_works(screen, key) ||
		    x + len + strlen(key->label) + 1 > (is_last(key) ? area->width + 1 : end))
			continue;
		x += canvas_put(canvas, x, area->y, area->width - x, INK_KEY, key->shown, len);
		x += canvas_text(canvas, x, area->y, area->width - x, INK_BAR, key->label);
		screen_add_hit(screen, (struct screen_hit){.area = {from, area->y, x - from, 1}, .key = key->keys[0]});
		x++;
	}
}

#define SHOWN_WIDTH 16
#define HELP_WIDTH  78 /* of one of two columns */

void top_keys_draw_help(struct screen *screen, struct canvas *canvas, struct screen_page *page, const struct area *area)
{
	unsigned columns = area->width >= 2 * HELP_WIDTH ? 2 : 1, count = 0;

	for (const struct top_key *key = top_key_table; key->shown; key++) {
		unsigned line = count / columns, x = area->x + count % columns * HELP_WIDTH + 1;

		if (((key->places & ON_LIVE) && !screen->live) || ((key->places & ON_RECORDED) && screen->live))
			continue;
		count++;
		if (line < page->scroll || line - page->scroll >= area->height)
			continue;
		canvas_text(canvas, x, area->y + line - page->scroll, SHOWN_WIDTH - 1, INK_KEY, key->shown);
		canvas_text(canvas, x + SHOWN_WIDTH, area->y + line - page->scroll, HELP_WIDTH - SHOWN_WIDTH - 2,
			    INK_PLAIN, key->help);
	}
	page->lines = (count + columns - 1) / columns;
}

/* One paragraph: those of recordings, or all others. */
static void add_paragraph(struct buf *out, const char *title, bool recorded)
{
	const char *between = title;

	for (const struct top_key *key = top_key_table; key->shown; key++) {
		if (!(key->places & ON_RECORDED) == recorded)
			continue;
		buf_add_format(out, "%s%s: %s", between, key->shown, key->help);
		between = "; ";
	}
	buf_add_char(out, '.');
}

void top_keys_add_manual(struct buf *out)
{
	add_paragraph(out, "Keys. ", false);
	add_paragraph(out, "\n\nKeys for recordings. ", true);
}
