/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Glob patterns with * and ?, and the list that selects the functions to record. */
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
 * Filters are "+glob" or "-glob", each NUL-terminated; an empty one ends the list. The last match decides; if the first
 * filter is a "+", functions without a match are omitted. A function without a name is recorded unless there are "+"
 * filters.
 */
static inline bool filter_wants(const char *filters, const char *name)
{
	bool wants = *filters != '+';

	for (; *filters; filters += strlen(filters) + 1)
		if (name && glob_matches(filters + 1, name))
			wants = *filters == '+';
	return wants;
}
