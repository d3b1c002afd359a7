/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "top/draw/theme.h"

#include <string.h>

#include "base/vec.h"

/* clang-format off */
/* What carries meaning without colour: bold, dim, reverse. */
#define PLAIN_BAR      .plain = THEME_REVERSE
#define PLAIN_SELECTED .plain = THEME_REVERSE
#define PLAIN_STRONG   .plain = THEME_BOLD

static const struct theme default_theme = {
	.name = "default",
	.help = "for dark terminals",
	.colour = true,
	.inks = {
		[INK_PLAIN]    = {-1, -1, -1, -1},
		[INK_DIM]      = {245, -1, -1, -1, .attributes = 0, .plain = THEME_DIM},
		[INK_BOLD]     = {-1, -1, -1, -1, .attributes = THEME_BOLD, PLAIN_STRONG},
		[INK_BAR]      = {250, 236, 7, 4, .attributes = 0, PLAIN_BAR},
		[INK_TAB]      = {231, 24, 7, 6, .attributes = THEME_BOLD, PLAIN_STRONG},
		[INK_HEADING]  = {252, 238, 0, 2, .attributes = 0, .plain = THEME_UNDERLINE},
		[INK_SORTED]   = {231, 30, 7, 6, .attributes = THEME_BOLD, .plain = THEME_UNDERLINE | THEME_BOLD},
		[INK_SELECTED] = {231, 24, 0, 6, .attributes = 0, PLAIN_SELECTED},
		[INK_GROUP]    = {117, -1, 6, -1, .attributes = THEME_BOLD, PLAIN_STRONG},
		[INK_GOOD]     = {114, -1, 2, -1},
		[INK_WARN]     = {221, -1, 3, -1, .attributes = 0, PLAIN_STRONG},
		[INK_BAD]      = {210, -1, 1, -1, .attributes = THEME_BOLD, PLAIN_STRONG},
		[INK_RX]       = {114, -1, 2, -1},
		[INK_TX]       = {111, -1, 6, -1},
		[INK_ALERT]    = {231, 124, 7, 1, .attributes = THEME_BOLD, .plain = THEME_BOLD},
		[INK_KEY]      = {231, -1, 7, -1, .attributes = THEME_BOLD, PLAIN_STRONG},
	},
};
THEME(default_theme);

static const struct theme light_theme = {
	.name = "light",
	.help = "for light terminals",
	.colour = true,
	.inks = {
		[INK_PLAIN]    = {-1, -1, -1, -1},
		[INK_DIM]      = {243, -1, -1, -1, .attributes = 0, .plain = THEME_DIM},
		[INK_BOLD]     = {-1, -1, -1, -1, .attributes = THEME_BOLD, PLAIN_STRONG},
		[INK_BAR]      = {238, 253, 0, 7, .attributes = 0, PLAIN_BAR},
		[INK_TAB]      = {231, 25, 7, 4, .attributes = THEME_BOLD, PLAIN_STRONG},
		[INK_HEADING]  = {236, 252, 0, 7, .attributes = 0, .plain = THEME_UNDERLINE},
		[INK_SORTED]   = {231, 30, 7, 6, .attributes = THEME_BOLD, .plain = THEME_UNDERLINE | THEME_BOLD},
		[INK_SELECTED] = {16, 153, 7, 4, .attributes = 0, PLAIN_SELECTED},
		[INK_GROUP]    = {25, -1, 4, -1, .attributes = THEME_BOLD, PLAIN_STRONG},
		[INK_GOOD]     = {28, -1, 2, -1},
		[INK_WARN]     = {130, -1, 3, -1, .attributes = 0, PLAIN_STRONG},
		[INK_BAD]      = {124, -1, 1, -1, .attributes = THEME_BOLD, PLAIN_STRONG},
		[INK_RX]       = {28, -1, 2, -1},
		[INK_TX]       = {25, -1, 4, -1},
		[INK_ALERT]    = {231, 160, 7, 1, .attributes = THEME_BOLD, .plain = THEME_BOLD},
		[INK_KEY]      = {16, -1, 0, -1, .attributes = THEME_BOLD, PLAIN_STRONG},
	},
};
THEME(light_theme);

static const struct theme mono_theme = {
	.name = "mono",
	.help = "no colour; also where NO_COLOR is set",
	.inks = {
		[INK_DIM]      = {.plain = THEME_DIM},
		[INK_BOLD]     = {PLAIN_STRONG},
		[INK_BAR]      = {PLAIN_BAR},
		[INK_TAB]      = {PLAIN_STRONG},
		[INK_HEADING]  = {.plain = THEME_UNDERLINE},
		[INK_SORTED]   = {.plain = THEME_UNDERLINE | THEME_BOLD},
		[INK_SELECTED] = {PLAIN_SELECTED},
		[INK_GROUP]    = {PLAIN_STRONG},
		[INK_WARN]     = {PLAIN_STRONG},
		[INK_BAD]      = {PLAIN_STRONG},
		[INK_ALERT]    = {PLAIN_STRONG},
		[INK_KEY]      = {PLAIN_STRONG},
	},
};
THEME(mono_theme);
/* clang-format on */

static int by_name(const void *a, const void *b)
{
	return strcmp((*(const struct theme *const *)a)->name, (*(const struct theme *const *)b)->name);
}

const struct theme **theme_list(size_t *ret_count)
{
	VEC(const struct theme *) list = {};

	registry_each(theme, theme)
		vec_push(&list, *theme);
	vec_sort(&list, by_name);
	*ret_count = list.count;
	return list.items;
}

const struct theme *theme_find(const char *name)
{
	registry_each(theme, theme)
		if (strcmp((*theme)->name, name) == 0)
			return *theme;
	return NULL;
}
