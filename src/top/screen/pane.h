/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The output of a command of nest, line by line: what tools, explanations and paths are shown in. */
#pragma once

#include "base/vec.h"
#include "top/draw/canvas.h"

/* Older lines make room. */
#define PANE_LINES_MAX 20000
#define PANE_WORDS_MAX 64

struct pane {
	char *command;       /* words behind `nest` */
	const char *summary; /* what it shows, in one line */
	VEC(char *) lines;
	uint64_t dropped; /* lines */
	struct buf rest;  /* a line that has not ended */
	size_t first;     /* the first line that is shown */
	bool follow;      /* the end stays in sight */
	bool ended;
	int status;   /* as of wait; when it has ended */
	void *runner; /* the process behind it; NULL: none */
};

struct pane *pane_new(const char *command);
void pane_free(struct pane *pane);
/* More of its output; any bytes. */
void pane_feed(struct pane *pane, const char *bytes, size_t len);
void pane_end(struct pane *pane, int status);
/* Moves by lines; at the end it follows again. height: lines that are shown. */
void pane_scroll(struct pane *pane, int64_t lines, unsigned height);
bool pane_search(struct pane *pane, const char *text, bool next);
void pane_draw(struct pane *pane, struct canvas *canvas, const struct area *area);
/* Splits words as a shell does, with quotes and backslashes, and nothing else. NULL if a quote is open or there are too
 * many; the array ends with NULL, and it and its words are freed by pane_free_words. */
char **pane_split_words(const char *text);
void pane_free_words(char **words);
