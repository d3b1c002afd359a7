/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Patterns with * and ?, and the list of them that says which functions are recorded. */
#pragma once

#include <stdbool.h>
#include <string.h>

static inline bool glob_matches(const char *pattern, const char *text)
{
	const char *star = NULL, *back = NULL;

	for (;;) {
		if (*pattern == '*') {
			star = pattern++;
			back = text;
		} else if (*text && (*pattern == '?' || *pattern == *text)) {
			pattern++;
			text++;
		} else if (!*text && !*pattern) {
			return true;
		} else if (star && *back) {
			pattern = star + 1;
			text = ++back;
		} else {
			return false;
		}
	}
}

/*
 * Filters are "+glob" or "-glob", each with its NUL, an empty one ends the list. The last that matches decides; when
 * the first one is a "+", what none matches is left out. A function without a name is recorded unless names are asked
 * for.
 */
static inline bool filter_wants(const char *filters, const char *name)
{
	bool wants = *filters != '+';

	for (; *filters; filters += strlen(filters) + 1)
		if (name && glob_matches(filters + 1, name))
			wants = *filters == '+';
	return wants;
}
