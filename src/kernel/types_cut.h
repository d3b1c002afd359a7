/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of the running kernel's type information that a BPF object asks for. libbpf reads, copies and indexes all of
 * it (5 MB), and then goes through all 130,000 types for each structure that a program looks into: most of the time
 * that a start took. Given a file with the types in question only, it is done in a millisecond.
 */
#pragma once

#include "base/map.h"

/* Kinds of names whose numbers are asked for (BTF_KIND_..), beside the name. */
struct types_number {
	uint32_t kind;
	const char *name;
	bool optional;
	uint32_t number; /* in the kernel's own type information; 0: it has none */
};

/*
 * A file (memfd) with all types that have one of the names (a set) and what those are made of, up to pointers; and the
 * numbers that are asked for. -ENOENT when one is not there that must be.
 */
int types_cut(const struct map *names, struct types_number *numbers, size_t count, int *ret_fd) _must_check_;
