/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ELF file of a BPF object before libbpf sees it. libbpf copies, indexes and relocates every program of the file
 * that it is given, wanted or not; so it is given a file with the wanted ones only, and without the line numbers, which
 * are half of everything. Then what opening costs does not grow with the number of events that there are.
 */
#pragma once

#include "base/embed.h"

/* The section that holds a program; NULL when there is no program of that name. */
const char *slim_section_of(const struct embedded_file *file, const char *program);
/*
 * The first name that the program takes from the kernel, without which it is not loaded, and the kernel lacks; NULL:
 * none.
 */
const char *slim_missing_extern(const struct embedded_file *file, const char *program,
				bool (*has)(const char *name, const void *context), const void *context);
/* To be freed. The file is one that the build made: it is not doubted. */
void *slim_copy(const struct embedded_file *file, bool (*wants)(const char *program, void *context), void *context,
		size_t *ret_size);
