/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which names the kernel's BTF has, without parsing it: a start of the program cannot afford that twice, and libbpf
 * does it once already. A tracepoint is there when the name btf_trace_X is; a function's name may also be a field's, so
 * its presence is a good sign, its absence is proof.
 */
#pragma once

#include "base/macros.h"

struct btf_names {
	const char *text; /* all strings, one NUL between; NULL: not readable */
	size_t size;
	void *mapped; /* NULL: the text is memory of its own */
	size_t mapped_size;
	uint32_t *places; /* a hash table of where names begin; NULL: they are searched for */
};

/* -ENOENT when the kernel has no BTF. */
int btf_names_load(struct btf_names *names);
/* For who asks for dozens of names: makes each question cheap, for some milliseconds once. */
void btf_names_index(struct btf_names *names);
bool btf_names_has(const struct btf_names *names, const char *name);
void btf_names_done(struct btf_names *names);
