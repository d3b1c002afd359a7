/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looks up names in the kernel's BTF without parsing it: parsing is too slow at start, and libbpf already does it once.
 * A tracepoint exists if the name btf_trace_X does; a function's name may also be a field's, so its presence is only a
 * hint, its absence is proof.
 */
#pragma once

#include "base/macros.h"

struct btf_names {
	const char *text; /* all strings, one NUL between; NULL: not readable */
	size_t size;
	void *mapped; /* NULL: the text is allocated */
	size_t mapped_size;
	uint32_t *places; /* hash table of name offsets; NULL: linear search */
};

/* -ENOENT when the kernel has no BTF. */
int btf_names_load(struct btf_names *names);
/* Builds the hash table: a few milliseconds once, for dozens of lookups. */
void btf_names_index(struct btf_names *names);
bool btf_names_has(const struct btf_names *names, const char *name);
void btf_names_done(struct btf_names *names);
