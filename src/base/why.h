/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why something failed, for a person. Lower layers return a negative errno and, where the code alone would not help,
 * fill in the sentence; only commands print it.
 */
#pragma once

#include "base/macros.h"

struct why {
	char text[512];
};

/* Fills the sentence (why may be NULL) and returns error, so that `return why_set(why, -EINVAL, ...)` reads well. */
int why_set(struct why *why, int error, const char *format, ...) _printf_(3, 4);
