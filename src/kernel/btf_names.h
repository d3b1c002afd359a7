/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looks up names in the kernel's BTF without parsing it: parsing is too slow at start, and libbpf already does it once.
 * A tracepoint exists if the name btf_trace_X does; a function's name may also be a field's, so its presence is only a
 * hint, its absence is proof.
 */
#pragma once

#include "base/map.h"

#define BTF_NAMES_MARKS 4096

struct btf_names {
	const char *text; /* all strings, one NUL between; NULL: not readable */
	size_t size;
	void *mapped; /* NULL: the text is allocated */
	size_t mapped_size;
	/* Names that were searched for at once, and whether they are there. */
	struct map wanted;
	bool marks[BTF_NAMES_MARKS];
	bool searched;
};

/* -ENOENT when the kernel has no BTF. */
int btf_names_load(struct btf_names *names);
/* For dozens of names: wants them, then searches for all in one pass, 1 ms. Others are still found, one by one. */
void btf_names_want(struct btf_names *names, const char *name);
void btf_names_find(struct btf_names *names);
bool btf_names_has(const struct btf_names *names, const char *name);
void btf_names_done(struct btf_names *names);
