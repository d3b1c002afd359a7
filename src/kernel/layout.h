/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the running kernel keeps a thing: the offset of a member in a structure, the number of a function, out of its
 * own type information. libbpf answers this too, after it has read, copied and indexed all of it, for 13 ms; who needs
 * two or three answers and is in a hurry finds them here in one.
 */
#pragma once

#include "base/why.h"

#define LAYOUT_NONE UINT32_MAX

struct layout_question {
	const char *type;   /* a structure; or a function, when there is no member */
	const char *member; /* also inside structures and unions without a name; "a.b": inside the member a; "": none,
			       the structure's number is asked for */
	bool is_variable;   /* neither: the number of a variable */
	bool optional;      /* not every kernel has it */
	uint32_t answer;    /* offset in bytes, or the number; LAYOUT_NONE: there is none */
	uint8_t shift;      /* of a bit field: bits of that byte that come before it */
	uint8_t width;      /* of a bit field: its bits; else 0 */
};

/* All of them, or -ENOENT and which one is missing; -EBADMSG for what is no type information. */
int layout_find(struct layout_question *questions, size_t count, struct why *why) _must_check_;

/* The same out of bytes in memory. */
int layout_find_in(const void *bytes, size_t len, struct layout_question *questions, size_t count,
		   struct why *why) _must_check_;
