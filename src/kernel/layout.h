/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Offsets of members and BTF ids of functions in the running kernel, from its BTF. libbpf can do this after it has
 * read, copied and indexed all of it (13 ms); for two or three lookups this takes 1 ms.
 */
#pragma once

#include "base/why.h"

#define LAYOUT_NONE UINT32_MAX

struct layout_question {
	const char *type;   /* a structure; or a function, if member is NULL */
	const char *member; /* also inside anonymous structures and unions; "a.b": inside the member a; "": none,
			       answer with the structure's BTF id */
	bool is_variable;   /* neither: answer with the BTF id of a variable */
	bool optional;      /* may be missing */
	uint32_t answer;    /* offset in bytes, or BTF id; LAYOUT_NONE: missing */
	uint8_t shift;      /* of a bit field: first bit in that byte */
	uint8_t width;      /* of a bit field: number of bits; else 0 */
};

/* Answers all, or -ENOENT and why for a missing one; -EBADMSG for invalid BTF. */
int layout_find(struct layout_question *questions, size_t count, struct why *why) _must_check_;

/* The same from bytes in memory. */
int layout_find_in(const void *bytes, size_t len, struct layout_question *questions, size_t count,
		   struct why *why) _must_check_;

/* Before a process is forked that will look for types as well: what that takes is shared then. */
void layout_prepare(void);
