/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/alloc.h"
#include "kernel/elf_view.h"
#include "kernel/slim.h"

/* Functions without their own section are parts of programs. */
static bool is_program(const struct elf *elf, const Elf64_Sym *symbol)
{
	return ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx < elf->header->e_shnum &&
	       strcmp(elf_section_name(elf, symbol->st_shndx), ".text") != 0;
}

static const Elf64_Sym *find_program(const struct elf *elf, const char *program)
{
	for (size_t i = 0; i < elf->symbol_count; i++)
		if (is_program(elf, &elf->symbols[i]) &&
		    strcmp(elf->symbol_names + elf->symbols[i].st_name, program) == 0)
			return &elf->symbols[i];
	return NULL;
}

const char *slim_section_of(const struct embedded_file *file, const char *program)
{
	struct elf elf = elf_of(file->begin);
	const Elf64_Sym *found = find_program(&elf, program);

	return found ? elf_section_name(&elf, found->st_shndx) : NULL;
}

void slim_each_section(const struct embedded_file *file, void (*fn)(const char *section, void *context), void *context)
{
	struct elf elf = elf_of(file->begin);

	for (unsigned i = 0; i < elf.header->e_shnum; i++)
		if (elf.sections[i].sh_flags & SHF_EXECINSTR)
			fn(elf_section_name(&elf, i), context);
}

/* The kernel symbol that a relocation inside the program refers to; NULL: none. */
static const Elf64_Sym *extern_at(const struct elf *elf, const Elf64_Sym *program, const Elf64_Rel *relocation)
{
	const Elf64_Sym *symbol = &elf->symbols[ELF64_R_SYM(relocation->r_info)];

	if (relocation->r_offset - program->st_value >= program->st_size || symbol->st_shndx != SHN_UNDEF ||
	    ELF64_ST_BIND(symbol->st_info) == STB_LOCAL)
		return NULL;
	return symbol;
}

const char *slim_missing_extern(const struct embedded_file *file, const char *program,
				bool (*has)(const char *name, bool is_weak))
{
	struct elf elf = elf_of(file->begin);
	const Elf64_Sym *found = find_program(&elf, program);

	for (unsigned i = 0; found && i < elf.header->e_shnum; i++) {
		const Elf64_Rel *relocations = (const void *)(elf.data + elf.sections[i].sh_offset);

		if (elf.sections[i].sh_type != SHT_REL || elf.sections[i].sh_info != found->st_shndx)
			continue;
		for (size_t k = 0; k < elf.sections[i].sh_size / sizeof(*relocations); k++) {
			const Elf64_Sym *symbol = extern_at(&elf, found, &relocations[k]);
			const char *name = symbol ? elf.symbol_names + symbol->st_name : NULL;

			if (name && !has(name, ELF64_ST_BIND(symbol->st_info) == STB_WEAK))
				return name;
		}
	}
	return NULL;
}

/* Sections keep their indices, which others refer to; unwanted ones become empty. */
static void mark_unwanted(const struct elf *elf, bool (*wants)(const char *program, void *context), void *context,
			  bool *empty)
{
	for (unsigned i = 0; i < elf->header->e_shnum; i++)
		empty[i] = elf->sections[i].sh_flags & SHF_EXECINSTR && strcmp(elf_section_name(elf, i), ".text") != 0;
	for (size_t i = 0; i < elf->symbol_count; i++)
		if (is_program(elf, &elf->symbols[i]) && wants(elf->symbol_names + elf->symbols[i].st_name, context))
			empty[elf->symbols[i].st_shndx] = false;
	for (unsigned i = 0; i < elf->header->e_shnum; i++)
		if (elf->sections[i].sh_type == SHT_REL)
			empty[i] = empty[elf->sections[i].sh_info];
}

/* Keeps functions and field relocations, drops line info; returns the new size. */
static size_t copy_btf_ext(const unsigned char *from, unsigned char *to)
{
	const struct btf_ext_head *head = (const void *)from;
	struct btf_ext_head slim = *head;
	unsigned char *at = to + head->head_len;

	slim.func_off = 0;
	slim.line_off = slim.relo_off = head->func_len;
	slim.line_len = 0;
	memcpy(to, from, head->head_len);
	memcpy(to, &slim, sizeof(slim));
	memcpy(at, from + head->head_len + head->func_off, head->func_len);
	memcpy(at + head->func_len, from + head->head_len + head->relo_off, head->relo_len);
	return head->head_len + head->func_len + head->relo_len;
}

void *slim_copy(const struct embedded_file *file, bool (*wants)(const char *program, void *context), void *context,
		size_t *ret_size)
{
	struct elf elf = elf_of(file->begin);
	unsigned count = elf.header->e_shnum;
	_cleanup_free_ bool *empty = xzalloc(count * sizeof(*empty));
	size_t at = sizeof(Elf64_Ehdr) + count * sizeof(Elf64_Shdr);
	/* The copy is at most as large; unwritten pages cost nothing. */
	unsigned char *copy = xzalloc((size_t)(file->end - file->begin) + at);
	Elf64_Ehdr *header = (Elf64_Ehdr *)copy;
	Elf64_Shdr *sections = (Elf64_Shdr *)(header + 1);

	mark_unwanted(&elf, wants, context, empty);
	*header = *elf.header;
	header->e_shoff = sizeof(*header);
	memcpy(sections, elf.sections, count * sizeof(*sections));
	for (unsigned i = 0; i < count; i++) {
		const unsigned char *from = elf.data + elf.sections[i].sh_offset;

		at = (at + 7) / 8 * 8;
		sections[i].sh_offset = at;
		if (empty[i]) {
			sections[i].sh_type = SHT_PROGBITS;
			sections[i].sh_size = 0;
		} else if (strcmp(elf_section_name(&elf, i), ".BTF.ext") == 0) {
			sections[i].sh_size = copy_btf_ext(from, copy + at);
			at += sections[i].sh_size;
		} else if (sections[i].sh_type != SHT_NOBITS && sections[i].sh_type != SHT_NULL) {
			memcpy(copy + at, from, sections[i].sh_size);
			at += sections[i].sh_size;
		}
	}
	*ret_size = at;
	return copy;
}
