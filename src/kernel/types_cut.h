/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of the running kernel's BTF that a BPF object needs. libbpf reads, copies and indexes all of it (5 MB), and
 * then searches all 130,000 types for each structure that a program reads: most of the start time. With a file of only
 * the needed types it takes 1 ms.
 */
#pragma once

#include "base/map.h"

/* A name and its kind (BTF_KIND_..), whose id is requested. */
struct types_number {
	uint32_t kind;
	const char *name;
	bool optional;
	uint32_t number; /* id in the kernel's BTF; 0: none */
};

/*
 * A file (memfd) with all types of these names (a set) and their members' types, up to pointers; and the requested ids.
 * -ENOENT when a mandatory one is missing.
 */
int types_cut(const struct map *names, struct types_number *numbers, size_t count, int *ret_fd) _must_check_;
