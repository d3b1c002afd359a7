/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions of a program or library by their addresses, from its symbol tables. */
#pragma once

#include <libelf.h>

#include "base/vec.h"
#include "base/why.h"

struct elf_name {
	uint64_t address;
	uint64_t size;
	char *name;
};

struct elf_names {
	VEC(struct elf_name) items; /* in the order of their addresses */
	char build_id[129];         /* hexadecimal; "" when there is none */
};

int elf_names_read(const char *path, struct elf_names *ret_names, struct why *why) _must_check_;
/* The same of a file that is open. */
void elf_names_take(Elf *elf, struct elf_names *ret_names);
void elf_names_done(struct elf_names *names);
/* The function that an address of the file lies in; NULL: none that is known. */
const char *elf_names_find(const struct elf_names *names, uint64_t address);
