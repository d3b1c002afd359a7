/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A source that knows where a program spent its time while others waited for it. The diagnosis asks about findings that
 * accuse an application; the source (a function trace) is opaque to it.
 */
#pragma once

#include "base/addr.h"

struct witness_question {
	uint32_t pid;
	struct endpoint local, remote; /* the connection that waits */
	uint64_t start_ns, end_ns;     /* CLOCK_REALTIME */
};

/* The function in which the program spent that time. Texts are the witness' own and valid until the next question. */
struct witness_answer {
	const char *function;
	const char *module; /* program or library */
	double share;       /* of that time */
	uint32_t tid;
	const char *const *call_path; /* from the outermost function to this one */
	size_t call_path_count;
	const char *text; /* all that in a sentence */
};

struct witness {
	/* False when it knows nothing. */
	bool (*ask)(void *context, const struct witness_question *question, struct witness_answer *ret_answer);
	void *context;
};
