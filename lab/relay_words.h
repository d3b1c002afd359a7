/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words that set the relay up, the same on the command line and on stdin. */
#pragma once

#include "relay_line.h"

struct relay_settings {
	struct line_settings ab;
	struct line_settings ba;
	uint64_t seed;
	bool seed_given;
};

/* One `word=value`, with `ab.` or `ba.` in front for one direction; -EINVAL and a sentence otherwise. */
int words_apply(struct relay_settings *set, const char *text, struct why *why) _must_check_;
/* Several of them, separated by blanks; text is taken apart. Nothing is changed unless all of them are right. */
int words_apply_line(struct relay_settings *set, char *text, struct why *why) _must_check_;
void words_help(FILE *out);
