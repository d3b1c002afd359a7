/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sections and symbols of a BPF object, which comes from the build and is trusted. */
#pragma once

#include <elf.h>

#include "base/macros.h"

struct elf {
	const unsigned char *data;
	const Elf64_Ehdr *header;
	const Elf64_Shdr *sections;
	const char *names;
	const Elf64_Sym *symbols;
	size_t symbol_count;
	const char *symbol_names;
};

/* Header of .BTF.ext; offsets start at its end. */
struct btf_ext_head {
	uint16_t magic;
	uint8_t version;
	uint8_t flags;
	uint32_t head_len;
	uint32_t func_off, func_len;
	uint32_t line_off, line_len;
	uint32_t relo_off, relo_len;
};

static inline struct elf elf_of(const void *data)
{
	struct elf elf = {.data = data, .header = data};

	elf.sections = (const void *)(elf.data + elf.header->e_shoff);
	elf.names = (const char *)elf.data + elf.sections[elf.header->e_shstrndx].sh_offset;
	for (unsigned i = 0; i < elf.header->e_shnum; i++)
		if (elf.sections[i].sh_type == SHT_SYMTAB) {
			elf.symbols = (const void *)(elf.data + elf.sections[i].sh_offset);
			elf.symbol_count = elf.sections[i].sh_size / sizeof(Elf64_Sym);
			elf.symbol_names = (const char *)elf.data + elf.sections[elf.sections[i].sh_link].sh_offset;
		}
	return elf;
}

static inline const char *elf_section_name(const struct elf *elf, unsigned section)
{
	return elf->names + elf->sections[section].sh_name;
}
