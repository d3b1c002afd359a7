/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Settings of the relay, on the command line and on stdin. */
#pragma once

#include "relay_line.h"

struct relay_settings {
	struct line_settings ab;
	struct line_settings ba;
	uint64_t seed;
	bool seed_given;
};

/* One `word=value`, with prefix `ab.` or `ba.` for one direction; -EINVAL with a reason. */
int words_apply(struct relay_settings *set, const char *text, struct why *why) _must_check_;
/* Several, separated by blanks; modifies text. All or none are applied. */
int words_apply_line(struct relay_settings *set, char *text, struct why *why) _must_check_;
void words_help(FILE *out);
