/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Colours of inks. A theme is a table that registers itself. */
#pragma once

#include "top/draw/canvas.h"

enum theme_attribute { THEME_BOLD = 1, THEME_DIM = 2, THEME_REVERSE = 4, THEME_UNDERLINE = 8 };

/* Of a terminal: -1 leaves its own. */
struct theme_ink {
	int16_t fg, bg;  /* of 256 */
	int8_t fg8, bg8; /* of 8, where there are no more */
	uint8_t attributes;
	uint8_t plain; /* attributes where there is no colour */
};

struct theme {
	const char *name;
	const char *help;
	bool colour;
	struct theme_ink inks[INKS];
};

REGISTRY(theme, struct theme);

#define THEME(object) REGISTER(theme, struct theme, object)

/* By name; NULL: there is none. */
const struct theme *theme_find(const char *name);
/* Sorted by name; the caller frees the array. */
const struct theme **theme_list(size_t *ret_count);
