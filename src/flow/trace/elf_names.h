/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions of a program or library by address, from its symbol tables. */
#pragma once

#include <libelf.h>

#include "base/vec.h"
#include "base/why.h"

struct elf_name {
	uint64_t address;
	uint64_t size;
	char *name;
	char *file; /* source file of a static function; NULL: global, or unknown */
};

struct elf_names {
	VEC(struct elf_name) items; /* sorted by address */
	char build_id[129];         /* hexadecimal; "": none */
};

int elf_names_read(const char *path, struct elf_names *ret_names, struct why *why) _must_check_;
/* The same for an open ELF file. */
void elf_names_take(Elf *elf, struct elf_names *ret_names);
void elf_names_done(struct elf_names *names);
/* Function that contains a file address; NULL: unknown. */
const struct elf_name *elf_names_find(const struct elf_names *names, uint64_t address);
