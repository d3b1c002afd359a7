/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/text.h"
#include "top/screen/board_view.h"
#include "top/screen/detail.h"
#include "top/screen/finding_note.h"
#include "top/screen/menu.h"
#include "top/screen/prompt.h"
#include "top/screen/screen.h"
#include "top/screen/top_keys.h"
#include "view/format.h"

#define WIDE_TABS 124 /* from this width tabs have their whole names */

/* --- first lines --- */

static void add_position(const struct screen_status *status, struct buf *out)
{
	uint64_t at = status->now_ns > status->begin_ns ? status->now_ns - status->begin_ns : 0;

	buf_add_text(out, "  +");
	format_add_duration(out, (int64_t)at);
	buf_add_text(out, " of ");
	format_add_duration(out, (int64_t)(status->end_ns - status->begin_ns));
	if (status->speed > 0)
		buf_add_format(out, "  x%g", status->speed);
	else
		buf_add_text(out, "  paused");
}

static void add_verdict(const struct screen *screen, struct buf *out, enum ink *ret_ink)
{
	size_t active = findings_active(&screen->findings);

	*ret_ink = INK_BAR;
	if (screen->findings.windows == 0)
		buf_add_text(out, "diagnosing");
	else if (active == 0)
		buf_add_text(out, "no finding");
	else
		buf_add_format(out, "%zu finding%s", active, active == 1 ? "" : "s");
	if (active > 0)
		*ret_ink = INK_ALERT;
	if (screen->status.diagnosis)
		buf_add_format(out, " (%s)", screen->status.diagnosis);
}

static void draw_bar(struct screen *screen, struct canvas *canvas)
{
	const struct screen_status *status = &screen->status;
	_cleanup_buf_ struct buf left = BUF_INIT(1024), right = BUF_INIT(256);
	unsigned width = canvas->width;
	enum ink ink;

	canvas_fill(canvas, &(struct area){0, 0, width, 1}, INK_BAR);
	buf_add_text(&left, " nest top");
	if (status->host) {
		buf_add_text(&left, "  ");
		text_add_terminal(&left, status->host, strlen(status->host));
	}
	if (status->now_ns) {
		buf_add_text(&left, "  ");
		format_add_clock(&left, status->now_ns);
	}
	if (status->file)
		add_position(status, &left);
	if (screen->frozen)
		buf_add_text(&left, "  FROZEN");
	add_verdict(screen, &right, &ink);
	buf_add_char(&right, ' ');
	canvas_put(canvas, 0, 0, width > right.len + 1 ? width - (unsigned)right.len - 1 : width, INK_BAR, left.data,
		   left.len);
	if (width > right.len)
		canvas_put_right(canvas, 0, 0, width, ink, right.data, right.len);
}

static unsigned draw_tab(struct screen *screen, struct canvas *canvas, unsigned x, char key, const char *name, bool on)
{
	char text[64];
	unsigned width;

	snprintf(text, sizeof(text), "%c %s", key, name);
	if (canvas->width < WIDE_TABS)
		snprintf(text, sizeof(text), "%c%s", key, name);
	width = (unsigned)strlen(text);
	if (x + width > canvas->width)
		return x;
	canvas_text(canvas, x, 1, width, on ? INK_TAB : INK_DIM, text);
	if (!on)
		canvas_text(canvas, x, 1, 1, INK_KEY, (char[]){key, '\0'});
	screen_add_hit(screen, (struct screen_hit){.area = {x, 1, width, 1}, .key = (uint32_t)key});
	return x + width + (canvas->width < WIDE_TABS ? 1 : 2);
}

static void draw_tabs(struct screen *screen, struct canvas *canvas)
{
	const struct screen_page *first = screen->pages.items[0];
	unsigned x = draw_tab(screen, canvas, 1, '1', "overview", first->kind == PAGE_OVERVIEW);

	vec_each(&screen->tables, at) {
		const struct top_table *table = *at;
		bool on = first->kind == PAGE_TABLE && first->boards[0]->table == table;

		if (table->key)
			x = draw_tab(screen, canvas, x, table->key,
				     canvas->width < WIDE_TABS && table->tab ? table->tab : table->name, on);
		else if (on && x + 2 < canvas->width)
			canvas_text(canvas, x, 1, canvas->width - x, INK_TAB, table->name);
	}
}

/* Which page this is, and how one came here. */
static void draw_info(struct screen *screen, struct canvas *canvas, unsigned y)
{
	const struct screen_page *page = screen_shown(screen);
	_cleanup_buf_ struct buf text = BUF_INIT(4096);

	if (page->kind == PAGE_TABLE)
		board_view_add_info(page->boards[0], &text);
	else if (page->kind == PAGE_DETAIL)
		buf_add_format(&text, " %s: one row", page->boards[0]->table->name);
	else if (page->kind == PAGE_HELP)
		buf_add_text(&text, " keys");
	else if (page->kind == PAGE_PANE)
		buf_add_format(&text, " %s", page->pane->summary);
	if (screen->pages.count > 1)
		buf_add_text(&text, "  (Backspace: back)");
	canvas_text(canvas, 0, y, canvas->width, INK_DIM, buf_text(&text));
}

/* --- overview --- */

static void draw_title(struct canvas *canvas, const struct area *area, const char *title, const char *note,
		       bool focused)
{
	unsigned x = area->x + 1;

	x += canvas_text(canvas, x, area->y, area->width, focused ? INK_GROUP : INK_BOLD, title);
	canvas_text(canvas, x + 2, area->y, area->width - min_of(area->width, x + 2), INK_DIM, note);
}

static void add_findings_note(const struct screen *screen, const struct board *board, struct buf *out)
{
	size_t active = findings_active(&screen->findings);

	if (screen->findings.windows == 0)
		buf_add_text(out, "the diagnosis needs 3 s");
	else if (active == 0)
		buf_add_text(out, "No fault found");
	else
		buf_add_format(out, "%zu active", active);
	if (board->grid.count > active)
		buf_add_format(out, ", %zu over", board->grid.count - active);
	if (screen->findings.baseline_s) {
		buf_add_text(out, "; baseline: ");
		format_add_span(out, screen->findings.baseline_s);
	}
}

static void add_count_note(const struct board *board, struct buf *out)
{
	const struct grid *grid = &board->grid;

	if (grid->order.count == 0)
		buf_add_text(out, "none");
	else
		buf_add_format(out, "%zu", grid->order.count);
	if (grid->order.count != grid->count)
		buf_add_format(out, " of %zu", grid->count);
	if (board->where)
		buf_add_format(out, ", filter: %s", board->where);
}

#define UNSEEN_LINES_MAX 4 /* in a terminal that has room */
#define UNSEEN_ROOM      15

struct unseen_text {
	struct canvas *canvas;
	const struct area *area;
	unsigned lines, lines_max;
};

/* The last line has all that is left, as far as it fits. */
static void draw_unseen_line(void *context, const char *text, size_t len)
{
	struct unseen_text *unseen = context;
	const struct area *area = unseen->area;

	if (unseen->lines == unseen->lines_max)
		return;
	if (unseen->lines + 1 == unseen->lines_max)
		len = strlen(text);
	canvas_put(unseen->canvas, area->x + 1, area->y + unseen->lines++, area->width - 1, INK_WARN, text, len);
}

/* What could not be looked at is said where the verdict stands. */
static unsigned draw_unseen(const struct screen *screen, struct canvas *canvas, const struct area *area)
{
	_cleanup_buf_ struct buf text = BUF_INIT(4096);
	struct unseen_text drawn;

	if (screen->findings.unseen.count == 0 || area->height < 12)
		return 0;
	buf_add_text(&text, "not seen: ");
	vec_each(&screen->findings.unseen, unseen) {
		if (unseen != screen->findings.unseen.items)
			buf_add_text(&text, "; ");
		text_add_terminal(&text, unseen->what, strlen(unseen->what));
		buf_add_text(&text, ": ");
		text_add_terminal(&text, unseen->why, strlen(unseen->why));
	}
	drawn = (struct unseen_text){canvas, area, 0, area->height >= UNSEEN_ROOM ? UNSEEN_LINES_MAX : 1};
	canvas_fold(buf_text(&text), max_of(area->width, 2U) - 1, draw_unseen_line, &drawn);
	return drawn.lines;
}

/*
 * A third for each table that needs it; what one leaves, programs get first, then interfaces, then findings. Returns
 * what all of them leave.
 */
static unsigned share_height(const struct screen_page *page, unsigned height, unsigned heights[static OVERVIEW_BOARDS])
{
	static const unsigned turns[OVERVIEW_BOARDS] = {1, 2, 0};
	unsigned needs[OVERVIEW_BOARDS], free = height;

	for (unsigned i = 0; i < OVERVIEW_BOARDS; i++) {
		size_t lines = page->boards[i]->grid.lines.count;

		needs[i] = lines == 0 ? 1 : 2 + (unsigned)min_of(lines, (size_t)1000);
		heights[i] = min_of(needs[i], height / OVERVIEW_BOARDS);
		free -= heights[i];
	}
	for (unsigned i = 0; i < OVERVIEW_BOARDS; i++) {
		unsigned more = min_of(needs[turns[i]] - heights[turns[i]], free);

		heights[turns[i]] += more;
		free -= more;
	}
	return free;
}

/* The selected finding in full, if all of it has room. */
static unsigned draw_note(struct canvas *canvas, const struct board *board, const struct area *area)
{
	unsigned lines = finding_note_draw(NULL, area, board);

	return lines <= area->height ? finding_note_draw(canvas, area, board) : 0;
}

static void draw_overview(struct screen *screen, struct canvas *canvas, const struct area *area)
{
	static const char *const titles[OVERVIEW_BOARDS] = {"Findings", "Programs", "Interfaces"};
	struct screen_page *page = screen_shown(screen);
	unsigned heights[OVERVIEW_BOARDS], used = meters_height(&screen->meters, area), free;
	struct area part = *area;

	meters_draw(&screen->meters, canvas, &part);
	part.y += used;
	used += draw_unseen(screen, canvas, &(struct area){area->x, part.y, area->width, area->height - used});
	part.y = area->y + used;
	if (area->height <= used + 6)
		return;
	free = share_height(page, area->height - used, heights);
	for (unsigned i = 0; i < OVERVIEW_BOARDS; i++) {
		struct board *board = page->boards[i];
		_cleanup_buf_ struct buf note = BUF_INIT(256);

		part.height = heights[i];
		if (i == 0)
			add_findings_note(screen, board, &note);
		else
			add_count_note(board, &note);
		draw_title(canvas, &part, titles[i], buf_text(&note), i == page->focus);
		if (part.height > 1)
			board_view_draw(screen, canvas, board,
					&(struct area){part.x, part.y + 1, part.width, part.height - 1},
					i == page->focus);
		part.y += heights[i];
		if (i == 0)
			part.y += draw_note(canvas, board, &(struct area){part.x, part.y, part.width, free});
	}
}

/* --- the whole --- */

static void draw_page(struct screen *screen, struct canvas *canvas, const struct area *area)
{
	struct screen_page *page = screen_shown(screen);

	screen->body_height = area->height;
	switch (page->kind) {
	case PAGE_OVERVIEW:
		draw_overview(screen, canvas, area);
		break;
	case PAGE_TABLE:
		board_view_draw(screen, canvas, page->boards[0], area, true);
		break;
	case PAGE_DETAIL:
		detail_draw(screen, canvas, page, area);
		break;
	case PAGE_PANE:
		pane_draw(page->pane, canvas, area);
		break;
	default:
		top_keys_draw_help(screen, canvas, page, area);
		break;
	}
}

/* A message takes a line of its own, or several. */
static unsigned message_height(const struct screen *screen)
{
	unsigned count = screen->message[0] ? 1 : 0;

	for (const char *c = screen->message; *c; c++)
		count += *c == '\n' && c[1];
	return min_of(count, 4U);
}

static void draw_message(const struct screen *screen, struct canvas *canvas, unsigned y)
{
	const char *text = screen->message;

	while (*text && y < canvas->height - 1) {
		size_t len = strcspn(text, "\n");

		canvas_put(canvas, 1, y++, canvas->width - 1, screen->message_bad ? INK_BAD : INK_GOOD, text, len);
		text += len + (text[len] == '\n');
	}
}

void screen_draw(struct screen *screen, struct canvas *canvas)
{
	unsigned info = screen_shown(screen)->kind != PAGE_OVERVIEW, bottom = prompt_height(screen) ?: 1;
	unsigned message = screen->prompt.kind ? 0 : message_height(screen), used = 2 + info + bottom + message;
	struct area body = {0, 2 + info, canvas->width, canvas->height > used ? canvas->height - used : 0};

	canvas_clear(canvas);
	screen->hits.count = 0;
	screen->width = canvas->width;
	screen->height = canvas->height;
	draw_bar(screen, canvas);
	draw_tabs(screen, canvas);
	if (info)
		draw_info(screen, canvas, 2);
	if (body.height > 0)
		draw_page(screen, canvas, &body);
	if (menu_is_open(screen) && body.height > 1) {
		screen->hits.count = 0;
		menu_draw(screen, canvas, &body);
	}
	if (message)
		draw_message(screen, canvas, body.y + body.height);
	body = (struct area){0, canvas->height > bottom ? canvas->height - bottom : 0, canvas->width, bottom};
	if (screen->prompt.kind)
		prompt_draw(screen, canvas, &body);
	else
		top_keys_draw_bar(screen, canvas, &body);
}

/* --- keys --- */

static void click(struct screen *screen, const struct key_press *press)
{
	vec_each(&screen->hits, hit) {
		struct screen_page *page = screen_shown(screen);
		struct screen_hit at = *hit;

		if (press->y != at.area.y || press->x < at.area.x || press->x >= at.area.x + at.area.width)
			continue;
		if (at.key) {
			screen_press(screen, &(struct key_press){.key = at.key});
		} else if (at.board && at.line == UINT32_MAX) {
			bool same = at.board->grid.sort.field == at.board->columns.items[at.column].ref.field;

			at.board->grid.sort = at.board->columns.items[at.column].ref;
			at.board->grid.descending = same ? !at.board->grid.descending : true;
			at.board->changed = true;
			board_arrange(at.board);
		} else if (at.board) {
			for (unsigned i = 0; i < OVERVIEW_BOARDS; i++)
				if (page->boards[i] == at.board)
					page->focus = i;
			board_select(at.board, at.line);
		} else if (page->kind == PAGE_DETAIL) {
			page->link = at.line;
		}
		if (!at.key && press->key == KEY_DOUBLE_CLICK)
			screen_press(screen, &(struct key_press){.key = KEY_RETURN});
		return;
	}
}

void screen_press(struct screen *screen, const struct key_press *press)
{
	const struct top_key *key;

	if (screen->prompt.kind) {
		prompt_press(screen, press->key);
		return;
	}
	screen->message[0] = '\0';
	if (menu_is_open(screen)) {
		menu_press(screen, press->key);
		return;
	}
	if (press->key == KEY_CLICK || press->key == KEY_DOUBLE_CLICK) {
		click(screen, press);
		return;
	}
	key = top_keys_find(screen, press->key);
	if (key)
		key->act(screen, press->key);
}
