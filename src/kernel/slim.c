/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <linux/bpf.h>
#include <linux/btf.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "base/vec.h"
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

/* --- the copy ----------------------------------------------------------------------------------------------------- */

/* A function of .text, which programs call. */
struct function {
	uint64_t begin, end;
	bool reached;
};

struct slimming {
	struct elf elf;
	bool *empty;   /* sections that nobody wants */
	unsigned text; /* the section of functions; 0: none */
	VEC(struct function) functions;
	const char *texts; /* of the types */
	unsigned found;    /* the section found last: records come in their order */
};

static unsigned find_section(struct slimming *slim, const char *name)
{
	unsigned count = slim->elf.header->e_shnum;

	for (unsigned i = 0; i < count; i++) {
		unsigned section = (slim->found + i) % count;

		if (strcmp(elf_section_name(&slim->elf, section), name) == 0)
			return slim->found = section;
	}
	return 0;
}

static const void *section_data(const struct slimming *slim, unsigned section)
{
	return slim->elf.data + slim->elf.sections[section].sh_offset;
}

static int by_begin(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static struct function *function_at(const struct slimming *slim, uint64_t offset)
{
	size_t at = bisect(slim->functions.items, slim->functions.count, begin, offset);

	return at && offset < slim->functions.items[at - 1].end ? &slim->functions.items[at - 1] : NULL;
}

static void reach(struct slimming *slim, uint64_t offset);

/* Calls within the section have no relocation. */
static void reach_calls(struct slimming *slim, const struct function *from)
{
	const struct bpf_insn *code = section_data(slim, slim->text);

	for (uint64_t i = from->begin / sizeof(*code); i < from->end / sizeof(*code); i++)
		if (code[i].code == (BPF_JMP | BPF_CALL) && code[i].src_reg == BPF_PSEUDO_CALL)
			reach(slim, (uint64_t)((int64_t)i + 1 + code[i].imm) * sizeof(*code));
}

/* A call, or the address of a callback, by symbol. */
static void reach_relocated(struct slimming *slim, unsigned section, uint64_t begin, uint64_t end)
{
	const struct elf *elf = &slim->elf;
	const char *code = section_data(slim, section);

	for (unsigned i = 0; i < elf->header->e_shnum; i++) {
		const Elf64_Rel *relocations = section_data(slim, i);
		size_t count = elf->sections[i].sh_size / sizeof(*relocations);

		if (elf->sections[i].sh_type != SHT_REL || elf->sections[i].sh_info != section)
			continue;
		for (size_t k = 0; k < count; k++) {
			const Elf64_Sym *symbol = &elf->symbols[ELF64_R_SYM(relocations[k].r_info)];
			uint64_t at = relocations[k].r_offset;
			const struct bpf_insn *insn = (const void *)(code + at);

			if (at < begin || at >= end || symbol->st_shndx != slim->text)
				continue;
			reach(slim, symbol->st_value + (insn->code == (BPF_JMP | BPF_CALL)
								? (uint64_t)((int64_t)insn->imm + 1) * sizeof(*insn)
								: (uint64_t)insn->imm));
		}
	}
}

static void reach(struct slimming *slim, uint64_t offset)
{
	struct function *function = function_at(slim, offset);

	if (!function || function->reached)
		return;
	function->reached = true;
	reach_calls(slim, function);
	reach_relocated(slim, slim->text, function->begin, function->end);
}

static bool is_function(const struct slimming *slim, const Elf64_Sym *symbol)
{
	return slim->text && symbol->st_shndx == slim->text && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC;
}

/* Sections keep their indices, which others refer to; unwanted ones become empty. */
static void mark_unwanted(struct slimming *slim, bool (*wants)(const char *program, void *context), void *context)
{
	const struct elf *elf = &slim->elf;

	for (unsigned i = 0; i < elf->header->e_shnum; i++)
		slim->empty[i] = elf->sections[i].sh_flags & SHF_EXECINSTR && i != slim->text;
	for (size_t i = 0; i < elf->symbol_count; i++)
		if (is_program(elf, &elf->symbols[i]) && wants(elf->symbol_names + elf->symbols[i].st_name, context))
			slim->empty[elf->symbols[i].st_shndx] = false;
	for (unsigned i = 0; i < elf->header->e_shnum; i++)
		if (elf->sections[i].sh_type == SHT_REL)
			slim->empty[i] = slim->empty[elf->sections[i].sh_info];
}

/* Of .text, only what the wanted programs call, directly or not. */
static void mark_functions(struct slimming *slim)
{
	const struct elf *elf = &slim->elf;
	bool any = false;

	for (size_t i = 0; i < elf->symbol_count; i++)
		if (is_function(slim, &elf->symbols[i]))
			vec_push(&slim->functions,
				 (struct function){.begin = elf->symbols[i].st_value,
						   .end = elf->symbols[i].st_value + elf->symbols[i].st_size});
	if (slim->functions.count)
		qsort(slim->functions.items, slim->functions.count, sizeof(struct function), by_begin);
	for (unsigned i = 1; i < elf->header->e_shnum; i++)
		if (elf->sections[i].sh_flags & SHF_EXECINSTR && i != slim->text && !slim->empty[i]) {
			reach_relocated(slim, i, 0, UINT64_MAX);
			any = true;
		}
	/* libbpf refuses an object without records; who wants no program fails later, with the reason. */
	vec_each(&slim->functions, function)
		function->reached |= !any;
}

static bool is_kept(const struct slimming *slim, unsigned section, uint64_t offset)
{
	const struct function *function;

	if (!section || slim->empty[section])
		return false;
	if (section != slim->text)
		return true;
	function = function_at(slim, offset);
	return function && function->reached;
}

/* Records of a part of .BTF.ext, by section; each begins with the offset of its instruction. Returns the new size. */
static uint32_t copy_records(struct slimming *slim, const unsigned char *from, uint32_t len, unsigned char *to)
{
	const unsigned char *at = from + sizeof(uint32_t), *end = from + len;
	unsigned char *begin = to;
	uint32_t size;

	if (len < sizeof(uint32_t))
		return 0;
	memcpy(&size, from, sizeof(size));
	memcpy(to, from, sizeof(size));
	to += sizeof(size);
	while (at < end) {
		uint32_t head[2], count = 0, offset;
		unsigned char *place = to;
		unsigned section;

		memcpy(head, at, sizeof(head));
		section = find_section(slim, slim->texts + head[0]);
		at += sizeof(head);
		to += sizeof(head);
		for (uint32_t i = 0; i < head[1]; i++, at += size) {
			memcpy(&offset, at, sizeof(offset));
			if (!is_kept(slim, section, offset))
				continue;
			memcpy(to, at, size);
			to += size;
			count++;
		}
		head[1] = count;
		memcpy(place, head, sizeof(head));
		to = count ? to : place;
	}
	/* libbpf refuses a part without records. */
	return to > begin + sizeof(size) ? (uint32_t)(to - begin) : 0;
}

/* Keeps functions and field relocations, drops line info; returns the new size. */
static size_t copy_btf_ext(struct slimming *slim, const unsigned char *from, unsigned char *to)
{
	const struct btf_ext_head *head = (const void *)from;
	struct btf_ext_head short_head = *head;
	unsigned char *at = to + head->head_len;

	from += head->head_len;
	short_head.func_off = 0;
	short_head.func_len = copy_records(slim, from + head->func_off, head->func_len, at);
	short_head.line_off = short_head.relo_off = short_head.func_len;
	short_head.line_len = 0;
	short_head.relo_len = copy_records(slim, from + head->relo_off, head->relo_len, at + short_head.func_len);
	memcpy(to, head, head->head_len);
	memcpy(to, &short_head, sizeof(short_head));
	return head->head_len + short_head.func_len + short_head.relo_len;
}

/* Functions that nobody calls are no functions to libbpf. */
static size_t copy_symbols(const struct slimming *slim, const void *from, size_t size, void *to)
{
	Elf64_Sym *symbols = memcpy(to, from, size);

	for (size_t i = 0; i < size / sizeof(*symbols); i++)
		if (is_function(slim, &symbols[i]) && !is_kept(slim, slim->text, symbols[i].st_value))
			symbols[i].st_info = ELF64_ST_INFO(ELF64_ST_BIND(symbols[i].st_info), STT_NOTYPE);
	return size;
}

static size_t copy_relocations(const struct slimming *slim, unsigned section, const Elf64_Rel *from, size_t size,
			       Elf64_Rel *to)
{
	size_t kept = 0;

	for (size_t i = 0; i < size / sizeof(*from); i++)
		if (is_kept(slim, section, from[i].r_offset))
			to[kept++] = from[i];
	return kept * sizeof(*to);
}

/* The rest of the section stays untouched: its pages cost nothing. */
static size_t copy_functions(const struct slimming *slim, const unsigned char *from, size_t size, unsigned char *to)
{
	vec_each(&slim->functions, function)
		if (function->reached)
			memcpy(to + function->begin, from + function->begin, function->end - function->begin);
	return size;
}

/* Returns the size in the copy. */
static size_t copy_section(struct slimming *slim, unsigned section, unsigned char *to)
{
	const Elf64_Shdr *head = &slim->elf.sections[section];
	const void *from = section_data(slim, section);

	if (strcmp(elf_section_name(&slim->elf, section), ".BTF.ext") == 0)
		return copy_btf_ext(slim, from, to);
	if (section == slim->text && section)
		return copy_functions(slim, from, head->sh_size, to);
	if (head->sh_type == SHT_SYMTAB)
		return copy_symbols(slim, from, head->sh_size, to);
	if (head->sh_type == SHT_REL)
		return copy_relocations(slim, head->sh_info, from, head->sh_size, (Elf64_Rel *)to);
	memcpy(to, from, head->sh_size);
	return head->sh_size;
}

static void look_at(struct slimming *slim, const struct embedded_file *file)
{
	const struct btf_header *types;

	slim->elf = elf_of(file->begin);
	slim->empty = xzalloc(slim->elf.header->e_shnum * sizeof(*slim->empty));
	slim->text = find_section(slim, ".text");
	types = section_data(slim, find_section(slim, ".BTF"));
	slim->texts = (const char *)types + types->hdr_len + types->str_off;
}

void *slim_copy(const struct embedded_file *file, bool (*wants)(const char *program, void *context), void *context,
		size_t *ret_size)
{
	struct slimming slim = {};
	size_t at, count;
	unsigned char *copy;
	Elf64_Ehdr *header;
	Elf64_Shdr *sections;

	look_at(&slim, file);
	mark_unwanted(&slim, wants, context);
	mark_functions(&slim);
	count = slim.elf.header->e_shnum;
	at = sizeof(*header) + count * sizeof(*sections);
	/* The copy is at most as large; unwritten pages cost nothing. */
	copy = xzalloc((size_t)(file->end - file->begin) + at + count * sizeof(uint64_t));
	header = (Elf64_Ehdr *)copy;
	sections = (Elf64_Shdr *)(header + 1);
	*header = *slim.elf.header;
	header->e_shoff = sizeof(*header);
	memcpy(sections, slim.elf.sections, count * sizeof(*sections));
	for (unsigned i = 0; i < count; i++) {
		at = (at + 7) / 8 * 8;
		sections[i].sh_offset = at;
		if (slim.empty[i]) {
			sections[i].sh_type = SHT_PROGBITS;
			sections[i].sh_size = 0;
		} else if (sections[i].sh_type != SHT_NOBITS && sections[i].sh_type != SHT_NULL) {
			sections[i].sh_size = copy_section(&slim, i, copy + at);
			at += sections[i].sh_size;
		}
	}
	*ret_size = at;
	free(slim.empty);
	vec_done(&slim.functions);
	return copy;
}
