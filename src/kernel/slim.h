/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reduces the ELF file of a BPF object before libbpf opens it. libbpf copies, indexes and relocates every program of a
 * file, wanted or not; so it gets a file with only the wanted ones and the functions they call, and without line info,
 * which is half of the size.
 * Then the cost of opening does not grow with the number of events.
 */
#pragma once

#include "base/embed.h"

/* The section of a program; NULL when there is no program of that name. */
/* Of all programs. */
void slim_each_section(const struct embedded_file *file, void (*fn)(const char *section, void *context), void *context);
const char *slim_section_of(const struct embedded_file *file, const char *program);
/* The first kernel symbol that the program needs and the kernel lacks; NULL: none. */
const char *slim_missing_extern(const struct embedded_file *file, const char *program,
				bool (*has)(const char *name, bool is_weak));
/* The caller frees it. The file comes from the build and is trusted. */
void *slim_copy(const struct embedded_file *file, bool (*wants)(const char *program, void *context), void *context,
		size_t *ret_size);
