/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "top/screen/screen.h"

#include <stdarg.h>
#include <string.h>

#include "top/screen/detail.h"
#include "top/screen/menu.h"
#include "top/screen/prompt.h"
#include "top/tables/top_plain.h"

#define PAGES_MAX 32

/* The overview, from top to bottom. */
static const char *const overview_tables[OVERVIEW_BOARDS] = {"findings", "programs", "interfaces"};

/* --- tables --- */

static bool has_table(const struct screen *screen, const struct record_type *type)
{
	vec_each(&screen->tables, table)
		if (strcmp((*table)->name, type->name) == 0 ||
		    ((*table)->types && (*table)->types[0] == type && (*table)->types[1] == NULL))
			return true;
	return false;
}

/* What names a row in most tables: its first identifiers, names and addresses. */
static void make_id(struct top_table *table, const struct record_type *type)
{
	unsigned count = 0;

	for (uint32_t i = 0; i < type->field_count && count < TOP_IDS_MAX; i++) {
		enum field_kind kind = type->fields[i].kind;

		if (kind == KIND_ID || kind == KIND_HEX || kind == KIND_TEXT || kind == KIND_ENUM || kind == KIND_ADDR)
			table->id[count++] = type->fields[i].name;
	}
}

/* Tables of the snapshot that nobody has declared a screen for are shown as they are. */
static void make_tables(struct screen *screen)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	size_t count;
	_cleanup_free_ const struct top_table **declared = top_table_list(&count);

	for (size_t i = 0; i < count; i++)
		vec_push(&screen->tables, declared[i]);
	for (size_t i = 0; i < snapshot->table_count; i++) {
		const struct record_type *type = snapshot->tables[i].type;
		const struct record_type **types;
		struct top_table *table;

		if (has_table(screen, type))
			continue;
		types = xzalloc(2 * sizeof(*types));
		types[0] = type;
		table = xzalloc(sizeof(*table));
		*table = (struct top_table){.name = type->name,
					    .help = type->help,
					    .types = types,
					    .shape = {1, {type}},
					    .fill = top_plain_fill};
		make_id(table, type);
		vec_push(&screen->made, table);
		vec_push(&screen->tables, table);
	}
}

const struct top_table *screen_find_table(const struct screen *screen, const char *name)
{
	vec_each(&screen->tables, table)
		if (strcmp((*table)->name, name) == 0)
			return *table;
	return NULL;
}

struct board *screen_keep_board(struct screen *screen, const struct top_table *table)
{
	struct board *board;

	vec_each(&screen->boards, at)
		if ((*at)->table == table)
			return *at;
	board = board_new(table);
	board_set_always(board, screen->always);
	vec_push(&screen->boards, board);
	return board;
}

/* --- pages --- */

struct screen_page *screen_shown(const struct screen *screen)
{
	return screen->pages.items[screen->pages.count - 1];
}

struct board *screen_board(const struct screen *screen)
{
	const struct screen_page *page = screen_shown(screen);

	return page->kind == PAGE_OVERVIEW || page->kind == PAGE_TABLE ? page->boards[page->focus] : NULL;
}

static void free_page(struct screen *screen, struct screen_page *page)
{
	if (page->pane && screen->host.stop)
		screen->host.stop(screen->host.context, page->pane);
	pane_free(page->pane);
	for (unsigned i = 0; i < OVERVIEW_BOARDS && page->owns; i++)
		board_free(page->boards[i]);
	if (page->kind == PAGE_DETAIL)
		grid_done(&page->row);
	top_links_done(&page->links);
	buf_done(&page->id);
	free(page->plots);
	free(page);
}

static struct screen_page *push_page(struct screen *screen, enum page_kind kind)
{
	struct screen_page *page = xzalloc(sizeof(*page));

	/* Whoever goes in circles returns to where the circle began. */
	if (screen->pages.count >= PAGES_MAX) {
		free_page(screen, screen->pages.items[1]);
		memmove(screen->pages.items + 1, screen->pages.items + 2,
			(screen->pages.count - 2) * sizeof(*screen->pages.items));
		screen->pages.count--;
	}
	page->kind = kind;
	screen->stale = true;
	page->id = BUF_INIT(1024);
	vec_push(&screen->pages, page);
	return page;
}

bool screen_back(struct screen *screen)
{
	if (screen->pages.count <= 1)
		return false;
	free_page(screen, screen->pages.items[--screen->pages.count]);
	return true;
}

static void clear_pages(struct screen *screen)
{
	while (screen->pages.count > 0)
		free_page(screen, screen->pages.items[--screen->pages.count]);
}

void screen_show_overview(struct screen *screen)
{
	struct screen_page *page;

	clear_pages(screen);
	page = push_page(screen, PAGE_OVERVIEW);
	for (unsigned i = 0; i < OVERVIEW_BOARDS; i++)
		page->boards[i] = screen_keep_board(screen, screen_find_table(screen, overview_tables[i]));
}

void screen_show_table(struct screen *screen, const struct top_table *table)
{
	clear_pages(screen);
	push_page(screen, PAGE_TABLE)->boards[0] = screen_keep_board(screen, table);
}

void screen_push_table(struct screen *screen, const struct top_table *table, const char *where)
{
	struct board *board = board_new(table);
	struct why why = {};
	struct screen_page *page;

	if (board_set_where(board, where, &why) < 0) {
		screen_complain(screen, "%s", why.text);
		board_free(board);
		return;
	}
	page = push_page(screen, PAGE_TABLE);
	page->boards[0] = board;
	page->owns = true;
}

void screen_push_detail(struct screen *screen)
{
	struct board *board = screen_board(screen);
	struct record record;
	struct screen_page *page;

	if (!board || !board_record(board, &record))
		return;
	page = push_page(screen, PAGE_DETAIL);
	page->boards[0] = board;
	grid_init(&page->row, &board->table->shape);
	grid_add(&page->row, &record);
	page->plots = xzalloc(TOP_PLOTS_MAX * sizeof(*page->plots));
	board_add_id(board, &record, &page->id);
	if (board->table->links)
		board->table->links(&record, &page->links);
	detail_update(screen, page);
}

void screen_push_command(struct screen *screen, const char *command)
{
	struct pane *pane = pane_new(command);
	struct why why = {};
	struct screen_page *page;

	if (!screen->host.run || screen->host.run(screen->host.context, pane, &why) < 0) {
		screen_complain(screen, "%s", why.text[0] ? why.text : "commands cannot be run here");
		pane_free(pane);
		return;
	}
	page = push_page(screen, PAGE_PANE);
	page->pane = pane;
}

void screen_push_help(struct screen *screen)
{
	if (screen_shown(screen)->kind != PAGE_HELP)
		(void)push_page(screen, PAGE_HELP);
}

/* --- the screen --- */

struct screen *screen_new(const struct screen_host *host, bool live, const char *always)
{
	struct screen *screen = xzalloc(sizeof(*screen));

	screen->host = *host;
	screen->live = live;
	screen->always = always && *always ? xstrdup(always) : NULL;
	screen->theme = theme_find("default");
	screen->searched = BUF_INIT(1024);
	screen->prompt.text = BUF_INIT(4096);
	screen->prompt.offers = BUF_INIT(4096);
	findings_init(&screen->findings);
	meters_init(&screen->meters);
	make_tables(screen);
	screen_show_overview(screen);
	return screen;
}

void screen_free(struct screen *screen)
{
	if (!screen)
		return;
	clear_pages(screen);
	vec_done(&screen->pages);
	vec_each(&screen->boards, board)
		board_free(*board);
	vec_done(&screen->boards);
	vec_each(&screen->made, table) {
		free((void *)(*table)->types);
		free(*table);
	}
	vec_done(&screen->made);
	vec_done(&screen->tables);
	vec_done(&screen->hits);
	menu_close(screen);
	vec_done(&screen->menu.items);
	buf_done(&screen->searched);
	buf_done(&screen->prompt.text);
	buf_done(&screen->prompt.offers);
	findings_done(&screen->findings);
	free(screen->always);
	free(screen);
}

static void add_types(const struct record_type ***list, size_t *count, const struct record_type *const *types)
{
	for (; types && *types; types++) {
		bool known = false;

		for (size_t i = 0; i < *count; i++)
			known = known || (*list)[i] == *types;
		if (known)
			continue;
		*list = xrealloc_array(*list, *count + 2, sizeof(**list));
		(*list)[(*count)++] = *types;
		(*list)[*count] = NULL;
	}
}

/* Of the pages below also: one goes back to them. */
const struct record_type **screen_types(const struct screen *screen)
{
	const struct record_type **list = NULL;
	size_t count = 0;

	for (unsigned i = 0; i < screen->meters.count; i++)
		add_types(&list, &count, screen->meters.items[i]->figure->types);
	vec_each(&screen->pages, page)
		for (unsigned i = 0; i < OVERVIEW_BOARDS && (*page)->boards[i]; i++)
			add_types(&list, &count, (*page)->boards[i]->table->types);
	return list;
}

/* The page that is shown, and the table below the details of one of its rows. */
static void fill_page(struct screen *screen, const struct snapshot *snapshot)
{
	struct top_moment moment = {snapshot, &screen->findings, screen->live, screen->status.flow};
	struct screen_page *page = screen_shown(screen);

	for (unsigned i = 0; i < OVERVIEW_BOARDS && page->boards[i]; i++)
		board_fill(page->boards[i], &moment);
	if (page->kind == PAGE_DETAIL)
		detail_update(screen, page);
}

void screen_take(struct screen *screen, const struct snapshot *snapshot)
{
	meters_add(&screen->meters, snapshot);
	screen->status.now_ns = snapshot->begin_time_ns;
	if (!screen->frozen)
		fill_page(screen, snapshot);
}

void screen_refill(struct screen *screen, const struct snapshot *snapshot)
{
	screen->stale = false;
	screen->status.now_ns = snapshot->begin_time_ns;
	fill_page(screen, snapshot);
}

void screen_restart(struct screen *screen)
{
	findings_clear(&screen->findings);
	meters_init(&screen->meters);
}

static void say(struct screen *screen, bool bad, const char *format, va_list args)
{
	vsnprintf(screen->message, sizeof(screen->message), format, args);
	screen->message_bad = bad;
}

void screen_say(struct screen *screen, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(screen, false, format, args);
	va_end(args);
}

void screen_complain(struct screen *screen, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(screen, true, format, args);
	va_end(args);
}

void screen_add_hit(struct screen *screen, struct screen_hit hit)
{
	vec_push(&screen->hits, hit);
}
