/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "top/screen/prompt.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"

#define OFFERS_MAX 12

/* What each one asks for. */
static const struct {
	const char *label;
	const char *hint;
} prompts[] = {
	[PROMPT_SEARCH] = {"Search: ", ""},
	[PROMPT_FILTER] = {"Filter: ", "rport == 443 and srtt > 10ms; Tab completes a field; empty: all rows"},
	[PROMPT_RUN] = {"nest ", "a command, tool or event: tcplife, trace tcp.reset, explain path-loss"},
	[PROMPT_SAVE] = {"Save recording as: ", "a file that does not exist"},
	[PROMPT_SEEK] = {"Go to: ", "02:13:30, +10s after the start, -1m before the end"},
};

void prompt_open(struct screen *screen, enum prompt_kind kind)
{
	const struct board *board = screen_board(screen);
	struct prompt *prompt = &screen->prompt;

	buf_clear(&prompt->text);
	buf_clear(&prompt->offers);
	prompt->why.text[0] = '\0';
	prompt->kind = kind;
	if (kind == PROMPT_FILTER && board && board->where)
		buf_add_text(&prompt->text, board->where);
	screen->message[0] = '\0';
}

static void close_prompt(struct screen *screen)
{
	screen->prompt.kind = PROMPT_NONE;
}

static bool search(struct screen *screen, bool next)
{
	const char *text = buf_text(&screen->searched);
	struct board *board = screen_board(screen);
	struct screen_page *page = screen_shown(screen);

	if (board)
		return board_search(board, text, next);
	return page->pane && pane_search(page->pane, text, next);
}

void prompt_search_next(struct screen *screen)
{
	if (screen->searched.len == 0)
		prompt_open(screen, PROMPT_SEARCH);
	else if (!search(screen, true))
		screen_complain(screen, "'%s' not found", buf_text(&screen->searched));
}

/* As one types. */
static void search_typed(struct screen *screen)
{
	buf_clear(&screen->searched);
	buf_add_text(&screen->searched, buf_text(&screen->prompt.text));
	screen->prompt.why.text[0] = '\0';
	if (screen->searched.len > 0 && !search(screen, false))
		(void)why_set(&screen->prompt.why, 0, "not found");
}

/* --- Enter --- */

static int filter_entered(struct screen *screen, const char *text, struct why *why)
{
	struct board *board = screen_board(screen);

	return board ? board_set_where(board, text, why) : 0;
}

static int run_entered(struct screen *screen, const char *text, struct why *why _unused_)
{
	if (*text)
		screen_push_command(screen, text);
	return 0;
}

static int save_entered(struct screen *screen, const char *text, struct why *why)
{
	int r = *text && screen->host.save ? screen->host.save(screen->host.context, text, why) : 0;

	if (r == 0 && *text)
		screen_say(screen, "saved %s", text);
	return r;
}

static int seek_entered(struct screen *screen, const char *text, struct why *why)
{
	return *text && screen->host.seek_to ? screen->host.seek_to(screen->host.context, text, why) : 0;
}

static int enter(struct screen *screen)
{
	static int (*const entered[])(struct screen *, const char *, struct why *) = {
		[PROMPT_FILTER] = filter_entered,
		[PROMPT_RUN] = run_entered,
		[PROMPT_SAVE] = save_entered,
		[PROMPT_SEEK] = seek_entered,
	};
	struct prompt *prompt = &screen->prompt;
	_cleanup_free_ char *text = xstrdup(buf_text(&prompt->text));

	if (prompt->kind == PROMPT_SEARCH)
		return 0;
	return entered[prompt->kind](screen, text, &prompt->why);
}

/* --- completion --- */

static size_t word_begin(const struct buf *text)
{
	size_t at = text->len;

	while (at > 0 && (isalnum((unsigned char)text->data[at - 1]) || text->data[at - 1] == '_'))
		at--;
	return at;
}

/* Completes as far as all fields with this beginning agree, and lists them. */
static void complete(struct screen *screen)
{
	const struct board *board = screen_board(screen);
	struct prompt *prompt = &screen->prompt;
	size_t begin = word_begin(&prompt->text), len = prompt->text.len - begin, common = 0, count = 0;
	const char *word = buf_text(&prompt->text) + begin, *first = NULL;
	struct field_ref ref = {};

	buf_clear(&prompt->offers);
	while (board && prompt->kind == PROMPT_FILTER && shape_next(&board->table->shape, &ref)) {
		const char *name = ref.field->name;
		size_t same = 0;

		if (strncmp(name, word, len) != 0)
			continue;
		while (first && same < common && name[same] == first[same])
			same++;
		common = first ? same : strlen(name);
		first = first ?: name;
		if (count++ < OFFERS_MAX)
			buf_add_format(&prompt->offers, "%s ", name);
	}
	if (count > OFFERS_MAX)
		buf_add_format(&prompt->offers, "and %zu more", count - OFFERS_MAX);
	if (first && common > len)
		buf_add(&prompt->text, first + len, common - len);
	if (count == 1) {
		buf_add_char(&prompt->text, ' ');
		buf_clear(&prompt->offers);
	}
}

/* --- typing --- */

static void delete_character(struct buf *text)
{
	size_t at = text->len;

	while (at > 0 && ((unsigned char)text->data[at - 1] & 0xc0) == 0x80)
		at--;
	buf_truncate(text, at > 0 ? at - 1 : 0);
}

static void delete_word(struct buf *text)
{
	size_t at = text->len;

	while (at > 0 && text->data[at - 1] == ' ')
		at--;
	while (at > 0 && text->data[at - 1] != ' ')
		at--;
	buf_truncate(text, at);
}

static void add_character(struct buf *text, uint32_t code)
{
	if (code < 0x80) {
		buf_add_char(text, (char)code);
	} else if (code < 0x800) {
		buf_add_char(text, (char)(0xc0 | code >> 6));
		buf_add_char(text, (char)(0x80 | (code & 0x3f)));
	} else if (code < 0x10000) {
		buf_add_char(text, (char)(0xe0 | code >> 12));
		buf_add_char(text, (char)(0x80 | (code >> 6 & 0x3f)));
		buf_add_char(text, (char)(0x80 | (code & 0x3f)));
	} else {
		buf_add_char(text, (char)(0xf0 | code >> 18));
		buf_add_char(text, (char)(0x80 | (code >> 12 & 0x3f)));
		buf_add_char(text, (char)(0x80 | (code >> 6 & 0x3f)));
		buf_add_char(text, (char)(0x80 | (code & 0x3f)));
	}
}

void prompt_press(struct screen *screen, uint32_t key)
{
	struct prompt *prompt = &screen->prompt;

	if (key == KEY_ESCAPE) {
		close_prompt(screen);
		return;
	}
	if (key == KEY_RETURN) {
		if (enter(screen) == 0)
			close_prompt(screen);
		return;
	}
	if (prompt->kind == PROMPT_SEARCH && (key == KEY_F_(3) || key == KEY_GO_DOWN)) {
		(void)search(screen, true);
		return;
	}
	prompt->why.text[0] = '\0';
	if (key == KEY_TAB_)
		complete(screen);
	else if (key == KEY_DELETE_BACK)
		delete_character(&prompt->text);
	else if (key == KEY_CTRL('U'))
		buf_clear(&prompt->text);
	else if (key == KEY_CTRL('W'))
		delete_word(&prompt->text);
	else if (key >= ' ' && key < KEY_SPECIAL)
		add_character(&prompt->text, key);
	if (prompt->kind == PROMPT_SEARCH)
		search_typed(screen);
}

/* --- drawing --- */

static unsigned count_lines(const char *text)
{
	unsigned count = *text ? 1 : 0;

	for (; *text; text++)
		count += *text == '\n' && text[1];
	return count;
}

unsigned prompt_height(const struct screen *screen)
{
	const struct prompt *prompt = &screen->prompt;

	if (prompt->kind == PROMPT_NONE)
		return 0;
	return 1 +
	       (prompt->why.text[0] ? count_lines(prompt->why.text) : prompt->offers.len > 0 || prompt->text.len == 0);
}

void prompt_draw(struct screen *screen, struct canvas *canvas, const struct area *area)
{
	const struct prompt *prompt = &screen->prompt;
	const char *why = prompt->why.text;
	unsigned y = area->y + area->height - 1, label;
	unsigned row = area->y;

	canvas_fill(canvas, area, INK_PLAIN);
	while (*why && row < y) {
		size_t len = strcspn(why, "\n");

		canvas_put(canvas, area->x, row++, area->width, INK_BAD, why, len);
		why += len + (why[len] == '\n');
	}
	if (!prompt->why.text[0] && prompt->offers.len > 0)
		canvas_text(canvas, area->x, row, area->width, INK_DIM, buf_text(&prompt->offers));
	else if (!prompt->why.text[0] && area->height > 1)
		canvas_text(canvas, area->x, row, area->width, INK_DIM, prompts[prompt->kind].hint);
	label = canvas_text(canvas, area->x, y, area->width, INK_KEY, prompts[prompt->kind].label);
	label += canvas_text(canvas, area->x + label, y, area->width - label, INK_PLAIN, buf_text(&prompt->text));
	canvas->cursor = true;
	canvas->cursor_x = min_of(area->x + label, canvas->width - 1);
	canvas->cursor_y = y;
}
