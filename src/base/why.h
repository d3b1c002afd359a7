/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reason of a failure, for the user. Lower layers return a negative errno and, where the code alone does not help,
 * fill in the text; only commands print it.
 */
#pragma once

#include "base/macros.h"

struct why {
	char text[512];
};

/* Fills the text (why may be NULL) and returns error, for `return why_set(why, -EINVAL, ...)`. */
int why_set(struct why *why, int error, const char *format, ...) _printf_(3, 4);
