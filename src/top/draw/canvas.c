/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "top/draw/canvas.h"

#include "base/alloc.h"
#include "base/text.h"

/* No terminal is larger; a broken one may say so. */
#define SIDE_MAX 2000

static const struct cell blank = {.text = " ", .width = 1, .ink = INK_PLAIN};

void canvas_init(struct canvas *canvas, unsigned width, unsigned height, bool utf8)
{
	*canvas = (struct canvas){.width = min_of(max_of(width, 1U), SIDE_MAX),
				  .height = min_of(max_of(height, 1U), SIDE_MAX),
				  .utf8 = utf8};
	canvas->cells = xrealloc_array(NULL, (size_t)canvas->width * canvas->height, sizeof(*canvas->cells));
	canvas_clear(canvas);
}

void canvas_done(struct canvas *canvas)
{
	free(canvas->cells);
	canvas->cells = NULL;
}

void canvas_clear(struct canvas *canvas)
{
	for (size_t i = 0; i < (size_t)canvas->width * canvas->height; i++)
		canvas->cells[i] = blank;
	canvas->cursor = false;
}

static struct cell *cell_at(const struct canvas *canvas, unsigned x, unsigned y)
{
	return x < canvas->width && y < canvas->height ? &canvas->cells[(size_t)y * canvas->width + x] : NULL;
}

/* One character as a cell has it; returns the bytes that it took. */
static size_t decode(const struct canvas *canvas, const char *text, size_t len, struct cell *cell)
{
	uint32_t code = 0;
	unsigned n = text_decode_utf8(text, len, &code);
	bool control = n == 0 || code < 0x20 || (code >= 0x7f && code < 0xa0);

	*cell = (struct cell){.text = "?", .width = 1};
	if (control || (!canvas->utf8 && n > 1))
		return max_of(n, 1U);
	memcpy(cell->text, text, n);
	cell->text[n] = '\0';
	cell->width = (uint8_t)text_columns(text, n);
	return n;
}

/* Overwriting half of a wide character leaves a blank in place of the other half. */
static void clear_cell(struct canvas *canvas, unsigned x, unsigned y)
{
	struct cell *cell = cell_at(canvas, x, y), *left = x > 0 ? cell_at(canvas, x - 1, y) : NULL;
	struct cell *right = cell_at(canvas, x + 1, y);

	if (cell->width == 0 && left)
		*left = (struct cell){.text = " ", .width = 1, .ink = left->ink};
	if (cell->width == 2 && right)
		*right = (struct cell){.text = " ", .width = 1, .ink = right->ink};
}

static void set_cell(struct canvas *canvas, unsigned x, unsigned y, const struct cell *cell)
{
	clear_cell(canvas, x, y);
	*cell_at(canvas, x, y) = *cell;
	if (cell->width == 2) {
		clear_cell(canvas, x + 1, y);
		*cell_at(canvas, x + 1, y) = (struct cell){.width = 0, .ink = cell->ink};
	}
}

size_t canvas_fit(const char *text, size_t len, unsigned width)
{
	size_t at = 0;
	unsigned used = 0;

	while (at < len) {
		unsigned n = text_decode_utf8(text + at, len - at, NULL);
		unsigned columns = n ? (unsigned)text_columns(text + at, n) : 1;

		if (used + columns > width)
			break;
		used += columns;
		at += max_of(n, 1U);
	}
	return at;
}

static unsigned put_plain(struct canvas *canvas, unsigned x, unsigned y, unsigned width, enum ink ink, const char *text,
			  size_t len)
{
	unsigned used = 0;

	for (size_t at = 0; at < len;) {
		struct cell cell;

		at += decode(canvas, text + at, len - at, &cell);
		if (cell.width == 0)
			continue;
		if (used + cell.width > width)
			break;
		cell.ink = (uint8_t)ink;
		set_cell(canvas, x + used, y, &cell);
		used += cell.width;
	}
	return used;
}

unsigned canvas_put(struct canvas *canvas, unsigned x, unsigned y, unsigned width, enum ink ink, const char *text,
		    size_t len)
{
	unsigned used;

	if (x >= canvas->width || y >= canvas->height)
		return 0;
	width = min_of(width, canvas->width - x);
	if (width < 2 || canvas_fit(text, len, width) >= len)
		return put_plain(canvas, x, y, width, ink, text, len);
	used = put_plain(canvas, x, y, width - 1, ink, text, canvas_fit(text, len, width - 1));
	return used + put_plain(canvas, x + used, y, 1, ink, canvas->utf8 ? "…" : "~", canvas->utf8 ? 3 : 1);
}

unsigned canvas_text(struct canvas *canvas, unsigned x, unsigned y, unsigned width, enum ink ink, const char *text)
{
	return canvas_put(canvas, x, y, width, ink, text, strlen(text));
}

void canvas_put_right(struct canvas *canvas, unsigned x, unsigned y, unsigned width, enum ink ink, const char *text,
		      size_t len)
{
	unsigned columns = (unsigned)min_of(text_columns(text, len), (size_t)width);

	canvas_put(canvas, x + width - columns, y, columns, ink, text, len);
}

void canvas_colour(struct canvas *canvas, unsigned x, unsigned y, unsigned width, enum ink ink)
{
	struct cell *cell;

	for (unsigned i = 0; i < width && (cell = cell_at(canvas, x + i, y)); i++)
		cell->ink = (uint8_t)ink;
}

void canvas_fill(struct canvas *canvas, const struct area *area, enum ink ink)
{
	for (unsigned y = area->y; y < area->y + area->height; y++)
		for (unsigned x = area->x; x < area->x + area->width; x++)
			if (cell_at(canvas, x, y))
				set_cell(canvas, x, y, &(struct cell){.text = " ", .width = 1, .ink = (uint8_t)ink});
}

void canvas_add_text(const struct canvas *canvas, struct buf *out)
{
	for (unsigned y = 0; y < canvas->height; y++) {
		size_t begin = out->len, end = begin;

		for (unsigned x = 0; x < canvas->width; x++) {
			const struct cell *cell = cell_at(canvas, x, y);

			buf_add_text(out, cell->text);
			if (strcmp(cell->text, " ") != 0)
				end = out->len;
		}
		buf_truncate(out, end);
		buf_add_char(out, '\n');
	}
}

void canvas_fold(const char *text, unsigned width, void (*line)(void *context, const char *text, size_t len),
		 void *context)
{
	width = max_of(width, 1U);
	do {
		size_t len = strcspn(text, "\n"), fit = canvas_fit(text, len, width), end = fit;

		while (fit < len && end > 0 && text[end] != ' ')
			end--;
		if (end == 0)
			end = max_of(fit, min_of(len, (size_t)1));
		line(context, text, end);
		text += end;
		while (*text == ' ' && end < len)
			text++;
		if (*text == '\n')
			text++;
	} while (*text);
}
