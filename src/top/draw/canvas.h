/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A screen in memory: cells with a character and an ink. Everything of nest top is drawn here; a terminal shows it, and
 * a test reads it as text. Accepts any bytes: what a terminal would obey is replaced.
 */
#pragma once

#include "base/buf.h"

/* What a cell means; a theme (theme.h) gives it a colour. */
enum ink {
	INK_PLAIN,
	INK_DIM,
	INK_BOLD,
	INK_BAR,      /* first and last line */
	INK_TAB,      /* the screen that is shown */
	INK_HEADING,  /* of columns */
	INK_SORTED,   /* the column that rows are sorted by */
	INK_SELECTED, /* the chosen row */
	INK_GROUP,    /* a node of a tree */
	INK_GOOD,
	INK_WARN,
	INK_BAD,
	INK_RX,
	INK_TX,
	INK_KEY,   /* in the last line */
	INK_ALERT, /* findings in the first line */
	INKS
};

struct cell {
	char text[5];  /* one character of UTF-8; empty: the right half of a wide one */
	uint8_t width; /* columns; 0: the right half of a wide one */
	uint8_t ink;
};

struct area {
	unsigned x, y, width, height;
};

struct canvas {
	unsigned width, height;
	struct cell *cells;
	bool utf8;                   /* characters beyond ASCII are allowed */
	bool cursor;                 /* shown */
	unsigned cursor_x, cursor_y; /* where */
};

void canvas_init(struct canvas *canvas, unsigned width, unsigned height, bool utf8);
void canvas_done(struct canvas *canvas);
/* Blanks everything. */
void canvas_clear(struct canvas *canvas);
/* Writes at most `width` columns and returns how many; a longer text ends with an ellipsis. */
unsigned canvas_put(struct canvas *canvas, unsigned x, unsigned y, unsigned width, enum ink ink, const char *text,
		    size_t len);
unsigned canvas_text(struct canvas *canvas, unsigned x, unsigned y, unsigned width, enum ink ink, const char *text);
/* The same at the right end of the width. */
void canvas_put_right(struct canvas *canvas, unsigned x, unsigned y, unsigned width, enum ink ink, const char *text,
		      size_t len);
/* Gives part of a line another ink; blanks are kept. */
void canvas_colour(struct canvas *canvas, unsigned x, unsigned y, unsigned width, enum ink ink);
void canvas_fill(struct canvas *canvas, const struct area *area, enum ink ink);
/* The picture as text, without blanks at the end of lines. */
void canvas_add_text(const struct canvas *canvas, struct buf *out);
/* The length of the first part of the text that fits into `width` columns. */
size_t canvas_fit(const char *text, size_t len, unsigned width);
/* Lays the text out in lines of at most `width` columns, broken at blanks: calls line for each. */
void canvas_fold(const char *text, unsigned width, void (*line)(void *context, const char *text, size_t len),
		 void *context);
