/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "top/screen/pane.h"

#include <string.h>
#include <sys/wait.h>

#define LINE_MAX_BYTES 4096
#define TAB_WIDTH      8

struct pane *pane_new(const char *command)
{
	struct pane *pane = xzalloc(sizeof(*pane));

	pane->command = xstrdup(command);
	pane->summary = "";
	pane->rest = BUF_INIT(LINE_MAX_BYTES);
	pane->follow = true;
	return pane;
}

void pane_free(struct pane *pane)
{
	if (!pane)
		return;
	vec_each(&pane->lines, line)
		free(*line);
	vec_done(&pane->lines);
	buf_done(&pane->rest);
	free(pane->command);
	free(pane);
}

static void end_line(struct pane *pane)
{
	if (pane->lines.count >= PANE_LINES_MAX) {
		size_t gone = PANE_LINES_MAX / 10;

		for (size_t i = 0; i < gone; i++)
			free(pane->lines.items[i]);
		memmove(pane->lines.items, pane->lines.items + gone,
			(pane->lines.count - gone) * sizeof(*pane->lines.items));
		pane->lines.count -= gone;
		pane->dropped += gone;
		pane->first = pane->first > gone ? pane->first - gone : 0;
	}
	vec_push(&pane->lines, xstrdup(buf_text(&pane->rest)));
	buf_clear(&pane->rest);
	pane->rest.over = false;
}

void pane_feed(struct pane *pane, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (bytes[i] == '\n')
			end_line(pane);
		else if (bytes[i] == '\t')
			buf_add_fill(&pane->rest, ' ', TAB_WIDTH - pane->rest.len % TAB_WIDTH);
		else if (bytes[i] != '\r' && bytes[i] != '\0')
			buf_add_char(&pane->rest, bytes[i]);
	}
}

void pane_end(struct pane *pane, int status)
{
	if (pane->rest.len > 0)
		end_line(pane);
	pane->ended = true;
	/* What has ended is read from its beginning, unless one was reading it already. */
	if (pane->follow)
		pane->first = 0;
	pane->follow = false;
	pane->status = status;
}

static size_t last_first(const struct pane *pane, unsigned height)
{
	return pane->lines.count > height ? pane->lines.count - height : 0;
}

void pane_scroll(struct pane *pane, int64_t lines, unsigned height)
{
	int64_t last = (int64_t)last_first(pane, height);
	int64_t at = (pane->follow ? last : (int64_t)pane->first) + lines;

	pane->first = (size_t)min_of(max_of(at, (int64_t)0), last);
	pane->follow = (int64_t)pane->first == last;
}

bool pane_search(struct pane *pane, const char *text, bool next)
{
	size_t count = pane->lines.count;

	for (size_t i = next ? 1 : 0; *text && i < count + next; i++) {
		size_t at = (pane->first + i) % count;

		if (strcasestr(pane->lines.items[at], text)) {
			pane->first = at;
			pane->follow = false;
			return true;
		}
	}
	return false;
}

static void add_status(const struct pane *pane, struct buf *out)
{
	if (!pane->ended)
		buf_add_text(out, "running");
	else if (WIFEXITED(pane->status) && WEXITSTATUS(pane->status) == 0)
		buf_add_text(out, "done");
	else if (WIFEXITED(pane->status))
		buf_add_format(out, "exit code %d", WEXITSTATUS(pane->status));
	else
		buf_add_text(out, "ended");
	buf_add_format(out, ", %zu line%s", pane->lines.count, pane->lines.count == 1 ? "" : "s");
	if (pane->dropped)
		buf_add_format(out, ", %llu older dropped", (unsigned long long)pane->dropped);
}

/* Bars and shades of a picture in text. */
static void colour_picture(struct canvas *canvas, unsigned y)
{
	static const struct {
		const char *text;
		enum ink ink;
	} inks[] = {{"@", INK_TX}, {"░", INK_DIM}, {"▒", INK_TX}, {"▓", INK_WARN}, {"█", INK_BAD}};
	bool inside = false;

	for (unsigned x = 0; x < canvas->width; x++) {
		struct cell *cell = &canvas->cells[(size_t)y * canvas->width + x];

		inside = inside != (strcmp(cell->text, "|") == 0);
		for (size_t i = 0; inside && i < ARRAY_SIZE(inks); i++)
			if (strcmp(cell->text, inks[i].text) == 0)
				cell->ink = (uint8_t)inks[i].ink;
	}
}

/* The line above a table: names in capitals. */
static bool is_heading(const char *line)
{
	bool any = false;

	for (; *line; line++) {
		if (*line >= 'a' && *line <= 'z')
			return false;
		any = any || (*line >= 'A' && *line <= 'Z' && line[1] >= 'A' && line[1] <= 'Z');
	}
	return any;
}

static void draw_line(struct canvas *canvas, const struct area *area, unsigned y, const char *line)
{
	canvas_text(canvas, area->x, y, area->width, is_heading(line) ? INK_BOLD : INK_PLAIN, line);
	if (strchr(line, '|'))
		colour_picture(canvas, y);
}

void pane_draw(struct pane *pane, struct canvas *canvas, const struct area *area)
{
	_cleanup_buf_ struct buf title = BUF_INIT(4096), status = BUF_INIT(256);
	unsigned height = area->height > 1 ? area->height - 1 : 0;

	if (pane->follow)
		pane->first = last_first(pane, height);
	else if (pane->first > last_first(pane, height))
		pane->first = last_first(pane, height);
	buf_add_format(&title, " nest %s", pane->command);
	add_status(pane, &status);
	buf_add_char(&status, ' ');
	canvas_fill(canvas, &(struct area){area->x, area->y, area->width, 1}, INK_HEADING);
	canvas_put(canvas, area->x, area->y, area->width > status.len ? area->width - (unsigned)status.len : 0,
		   INK_HEADING, title.data, title.len);
	if (area->width > status.len)
		canvas_put_right(canvas, area->x, area->y, area->width, INK_HEADING, status.data, status.len);
	for (unsigned i = 0; i < height && pane->first + i < pane->lines.count; i++)
		draw_line(canvas, area, area->y + 1 + i, pane->lines.items[pane->first + i]);
	if (pane->lines.count == 0 && height > 1)
		canvas_text(canvas, area->x + 1, area->y + 1, area->width, INK_DIM,
			    pane->ended ? "no output" : "waiting for output");
}

/* --- words --- */

void pane_free_words(char **words)
{
	for (char **word = words; word && *word; word++)
		free(*word);
	free(words);
}

/* One word into the buffer; the rest of the text, or NULL for an open quote. */
static const char *take_word(const char *text, struct buf *word)
{
	char quote = 0;

	for (; *text && (quote || *text != ' '); text++) {
		if (quote ? *text == quote : *text == '\'' || *text == '"')
			quote = quote ? 0 : *text;
		else if (*text == '\\' && quote != '\'' && text[1])
			buf_add_char(word, *++text);
		else
			buf_add_char(word, *text);
	}
	return quote ? NULL : text;
}

char **pane_split_words(const char *text)
{
	char **words = xzalloc((PANE_WORDS_MAX + 1) * sizeof(*words));
	size_t count = 0;

	while (text && *(text += strspn(text, " "))) {
		_cleanup_buf_ struct buf word = BUF_INIT(65536);

		text = count < PANE_WORDS_MAX ? take_word(text, &word) : NULL;
		if (text)
			words[count++] = xstrdup(buf_text(&word));
	}
	if (text)
		return words;
	pane_free_words(words);
	return NULL;
}
