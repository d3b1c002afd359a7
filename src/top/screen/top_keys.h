/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The keys: one table, from which the last line, the help page and the manual page are made. */
#pragma once

#include "top/screen/screen.h"

/* Where a key works. */
enum key_place {
	ON_TABLE = 1 << PAGE_TABLE | 1 << PAGE_OVERVIEW,
	ON_DETAIL = 1 << PAGE_DETAIL,
	ON_PANE = 1 << PAGE_PANE,
	ON_HELP = 1 << PAGE_HELP,
	ON_ALL = ON_TABLE | ON_DETAIL | ON_PANE | ON_HELP,
	ON_LIVE = 1 << 20,     /* of the running host alone */
	ON_RECORDED = 1 << 21, /* of a recording alone */
};

struct top_key {
	uint32_t keys[4];
	const char *shown; /* F1 ? */
	const char *label; /* in the last line; NULL: not there */
	const char *help;
	unsigned places;
	void (*act)(struct screen *screen, uint32_t key);
};

extern const struct top_key top_key_table[];

/* What the key does on this page; NULL: nothing. */
const struct top_key *top_keys_find(const struct screen *screen, uint32_t key);
bool top_keys_works(const struct screen *screen, const struct top_key *key);
void top_keys_draw_bar(struct screen *screen, struct canvas *canvas, const struct area *area);
void top_keys_draw_help(struct screen *screen, struct canvas *canvas, struct screen_page *page,
			const struct area *area);
/* All of them in two paragraphs, for help and manual page. */
void top_keys_add_manual(struct buf *out);
