/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/lean.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "base/vec.h"
#include "kernel/elf_view.h"
#include "kernel/types_cut.h"

/* Section prefixes of programs that attach by BTF id, and the prefix of the target's name. The first letter changes. */
static const struct {
	const char *section, *renamed;
	const char *prefix;
	uint32_t kind;
	enum bpf_attach_type attach;
} kinds[] = {
	{"tp_btf/", "Tp_btf+", "btf_trace_", BTF_KIND_TYPEDEF, BPF_TRACE_RAW_TP},
	{"fentry/", "Fentry+", "", BTF_KIND_FUNC, BPF_TRACE_FENTRY},
	{"fexit/", "Fexit+", "", BTF_KIND_FUNC, BPF_TRACE_FEXIT},
	{"iter/", "Iter+", "bpf_iter_", BTF_KIND_FUNC, BPF_TRACE_ITER},
};

/* New section name -> BTF id to load its programs with. Constant while the kernel runs. */
static struct map targets = MAP_INIT(0, sizeof(uint32_t), 4096);

/* --- libbpf's side ------------------------------------------------------------------------------------------------ */

/*
 * Sets a target program, so that libbpf does not read the kernel's BTF. The target is not checked before the load.
 */
static int set_up(struct bpf_program *program, long cookie _unused_)
{
	return bpf_program__set_attach_target(program, 1, NULL);
}

static int prepare_load(struct bpf_program *program, struct bpf_prog_load_opts *options, long cookie _unused_)
{
	const uint32_t *number = map_get(&targets, bpf_program__section_name(program));

	if (!number)
		return -ENOENT;
	options->attach_prog_fd = 0;
	options->attach_btf_obj_fd = 0;
	options->attach_btf_id = *number;
	return 0;
}

static int attach(const struct bpf_program *program, long cookie _unused_, struct bpf_link **ret_link)
{
	*ret_link = bpf_program__attach_trace(program);
	return *ret_link ? 0 : -errno;
}

static int register_kinds(void)
{
	LIBBPF_OPTS(libbpf_prog_handler_opts, options, .prog_setup_fn = set_up, .prog_prepare_load_fn = prepare_load,
		    .prog_attach_fn = attach);
	static bool done;

	for (size_t i = 0; !done && i < ARRAY_SIZE(kinds); i++) {
		int r = libbpf_register_prog_handler(kinds[i].renamed, BPF_PROG_TYPE_TRACING, kinds[i].attach,
						     &options);

		if (r < 0)
			return r;
	}
	done = true;
	return 0;
}

/* --- what the object asks for ------------------------------------------------------------------------------------- */

struct lean {
	struct elf elf;
	char *texts; /* of its types */
	VEC(struct btf_type *) types;
	struct btf_ext_head *ext;
	struct map names; /* of kernel types whose layout is needed */
	VEC(struct types_number) numbers;
	VEC(char *) own; /* allocated names */
};

static void lean_done(struct lean *lean)
{
	vec_each(&lean->own, text)
		free(*text);
	vec_done(&lean->own);
	vec_done(&lean->numbers);
	vec_done(&lean->types);
	map_done(&lean->names);
}

static void *section_data(const struct lean *lean, unsigned section)
{
	return (void *)(lean->elf.data + lean->elf.sections[section].sh_offset);
}

static unsigned find_section(const struct lean *lean, const char *name)
{
	for (unsigned i = 1; i < lean->elf.header->e_shnum; i++)
		if (strcmp(elf_section_name(&lean->elf, i), name) == 0)
			return i;
	return 0;
}

static size_t rest_of(const struct btf_type *type)
{
	switch (btf_kind(type)) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return sizeof(uint32_t);
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_ENUM:
	case BTF_KIND_FUNC_PROTO:
		return btf_vlen(type) * sizeof(struct btf_enum);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_DATASEC:
	case BTF_KIND_ENUM64:
		return btf_vlen(type) * sizeof(struct btf_member);
	default:
		return 0;
	}
}

static int open_object(struct lean *lean, void *object)
{
	unsigned types, ext;
	struct btf_header *header;
	char *at;

	lean->elf = elf_of(object);
	types = find_section(lean, ".BTF");
	ext = find_section(lean, ".BTF.ext");
	if (!types || !ext)
		return -ENOENT;
	header = section_data(lean, types);
	lean->ext = section_data(lean, ext);
	lean->texts = (char *)header + header->hdr_len + header->str_off;
	at = (char *)header + header->hdr_len + header->type_off;
	vec_push(&lean->types, NULL);
	for (char *end = at + header->type_len; at < end;) {
		struct btf_type *type = (struct btf_type *)at;

		vec_push(&lean->types, type);
		at += sizeof(*type) + rest_of(type);
	}
	return 0;
}

static uint32_t number_of(const struct lean *lean, uint32_t kind, const char *name)
{
	vec_each(&lean->numbers, number)
		if (number->kind == kind && strcmp(number->name, name) == 0)
			return number->number;
	return 0;
}

static void ask_number(struct lean *lean, struct types_number asked)
{
	vec_each(&lean->numbers, number)
		if (number->kind == asked.kind && strcmp(number->name, asked.name) == 0)
			return;
	vec_push(&lean->numbers, asked);
}

/* One record of a section in .BTF.ext. */
struct relocation {
	uint32_t insn_off;
	uint32_t type_id;
	uint32_t access_off;
	uint32_t kind;
};

enum { RELOCATION_TYPE_ID_LOCAL = 6, RELOCATION_TYPE_ID = 7, RELOCATION_TYPE_MATCHES = 12 };

typedef int (*relocation_fn)(struct lean *lean, unsigned section, struct relocation *relocation);

/* Calls fn for each; drops records for which it returns 1, and those of missing sections. */
static int each_relocation(struct lean *lean, relocation_fn fn, bool drop)
{
	char *begin = (char *)lean->ext + lean->ext->head_len + lean->ext->relo_off, *end = begin + lean->ext->relo_len;
	char *to = begin + sizeof(uint32_t);
	uint32_t size = lean->ext->relo_len ? *(uint32_t *)begin : 0;

	for (char *at = to; at < end;) {
		struct btf_ext_info_sec_head {
			uint32_t name_off, count;
		} head = *(struct btf_ext_info_sec_head *)at;
		unsigned section = find_section(lean, lean->texts + head.name_off);
		char *place = to;
		uint32_t kept = 0;

		at += sizeof(head);
		to += sizeof(head);
		for (uint32_t i = 0; i < head.count; i++, at += size) {
			int r = section && lean->elf.sections[section].sh_size ? fn(lean, section, (void *)at) : 1;

			if (r < 0)
				return r;
			if (r > 0 || !drop)
				continue;
			memmove(to, at, size);
			to += size;
			kept++;
		}
		head.count = kept;
		if (drop && kept)
			memcpy(place, &head, sizeof(head));
		else
			to = place;
	}
	/* libbpf refuses a part without records. */
	if (drop)
		lean->ext->relo_len = to > begin + sizeof(uint32_t) ? (uint32_t)(to - begin) : 0;
	return 0;
}

/* The kernel knows "sock___old" as sock. */
static int note_relocation(struct lean *lean, unsigned section _unused_, struct relocation *relocation)
{
	const char *name = lean->texts + lean->types.items[relocation->type_id]->name_off;
	const char *flavour = strstr(name, "___");
	char essential[128];

	if (relocation->kind == RELOCATION_TYPE_MATCHES || strlen(name) >= sizeof(essential))
		return -ENOTSUP;
	if (relocation->kind == RELOCATION_TYPE_ID_LOCAL)
		return 0;
	if (relocation->kind == RELOCATION_TYPE_ID) {
		if (!btf_is_struct(lean->types.items[relocation->type_id]) || flavour)
			return -ENOTSUP;
		ask_number(lean, (struct types_number){.kind = BTF_KIND_STRUCT, .name = name});
		return 0;
	}
	/* A structure that is not in the kernel's own BTF is a module's: libbpf must look there. */
	if (btf_is_struct(lean->types.items[relocation->type_id]) && !flavour)
		ask_number(lean, (struct types_number){.kind = BTF_KIND_STRUCT, .name = name});
	snprintf(essential, sizeof(essential), "%.*s", flavour ? (int)(flavour - name) : (int)strlen(name), name);
	(void)map_put(&lean->names, essential, NULL);
	return 0;
}

/* The attach target of a section's programs; NULL: none. */
static const char *target_of(struct lean *lean, unsigned section, uint32_t *ret_kind)
{
	const char *name = elf_section_name(&lean->elf, section);

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strncmp(name, kinds[i].section, strlen(kinds[i].section)) == 0) {
			char *target = xasprintf("%s%s", kinds[i].prefix, name + strlen(kinds[i].section));

			vec_push(&lean->own, target);
			*ret_kind = kinds[i].kind;
			return target;
		}
	return NULL;
}

static const Elf64_Sym *symbol_of(const struct lean *lean, const Elf64_Rel *relocation)
{
	return &lean->elf.symbols[ELF64_R_SYM(relocation->r_info)];
}

static bool is_extern(const Elf64_Sym *symbol)
{
	return symbol->st_shndx == SHN_UNDEF && ELF64_ST_BIND(symbol->st_info) != STB_LOCAL;
}

static struct bpf_insn *insn_at(const struct lean *lean, unsigned section, uint64_t offset)
{
	return (struct bpf_insn *)((char *)section_data(lean, section) + offset);
}

/* The kind of kernel symbol that an instruction refers to: a function by a call, a variable by its address. */
static uint32_t kind_of_extern(const struct bpf_insn *insn)
{
	if (insn->code == (BPF_JMP | BPF_CALL))
		return BTF_KIND_FUNC;
	return insn->code == (BPF_LD | BPF_DW | BPF_IMM) ? BTF_KIND_VAR : BTF_KIND_UNKN;
}

static int note_externs(struct lean *lean, unsigned section)
{
	const Elf64_Rel *relocations = section_data(lean, section);

	for (size_t i = 0; i < lean->elf.sections[section].sh_size / sizeof(*relocations); i++) {
		const Elf64_Sym *symbol = symbol_of(lean, &relocations[i]);
		uint32_t kind;

		if (!is_extern(symbol))
			continue;
		kind = kind_of_extern(insn_at(lean, lean->elf.sections[section].sh_info, relocations[i].r_offset));
		if (kind == BTF_KIND_UNKN)
			return -ENOTSUP;
		/* The call of a missing weak function is never reached; the address of a missing weak variable is 0. */
		ask_number(lean, (struct types_number){.kind = kind,
						       .name = lean->elf.symbol_names + symbol->st_name,
						       .optional = ELF64_ST_BIND(symbol->st_info) == STB_WEAK});
	}
	return 0;
}

static int note_all(struct lean *lean)
{
	int r = each_relocation(lean, note_relocation, false);

	for (unsigned i = 1; r == 0 && i < lean->elf.header->e_shnum; i++) {
		const Elf64_Shdr *section = &lean->elf.sections[i];
		const char *target;
		uint32_t kind;

		if (section->sh_size == 0)
			continue;
		if (section->sh_type == SHT_REL)
			r = note_externs(lean, i);
		target = section->sh_flags & SHF_EXECINSTR ? target_of(lean, i, &kind) : NULL;
		if (target)
			ask_number(lean, (struct types_number){.kind = kind, .name = target});
	}
	return r;
}

/* --- the answers -------------------------------------------------------------------------------------------------- */

static int answer_relocation(struct lean *lean, unsigned section, struct relocation *relocation)
{
	struct bpf_insn *insn = insn_at(lean, section, relocation->insn_off);

	if (relocation->kind != RELOCATION_TYPE_ID)
		return 0;
	insn->imm = (int32_t)number_of(lean, BTF_KIND_STRUCT,
				       lean->texts + lean->types.items[relocation->type_id]->name_off);
	return 1;
}

static void answer_extern(struct bpf_insn *insn, uint32_t kind, uint32_t number)
{
	if (kind == BTF_KIND_FUNC)
		insn->src_reg = BPF_PSEUDO_KFUNC_CALL;
	else
		insn->src_reg = number ? BPF_PSEUDO_BTF_ID : 0;
	insn->off = 0;
	insn->imm = (int32_t)number;
}

static void answer_externs(struct lean *lean, Elf64_Shdr *section)
{
	Elf64_Rel *relocations = (void *)(lean->elf.data + section->sh_offset);
	size_t kept = 0;

	for (size_t i = 0; i < section->sh_size / sizeof(*relocations); i++) {
		const Elf64_Sym *symbol = symbol_of(lean, &relocations[i]);
		struct bpf_insn *insn = insn_at(lean, section->sh_info, relocations[i].r_offset);
		uint32_t kind = kind_of_extern(insn);

		if (is_extern(symbol))
			answer_extern(insn, kind, number_of(lean, kind, lean->elf.symbol_names + symbol->st_name));
		else
			relocations[kept++] = relocations[i];
	}
	section->sh_size = kept * sizeof(*relocations);
}

/*
 * The extern symbols are resolved: turns them into plain types, so that libbpf does not look for them.
 */
static void forget_externs(struct lean *lean)
{
	uint32_t size_type = 0;

	for (size_t i = 0; i < lean->elf.symbol_count; i++)
		if (is_extern(&lean->elf.symbols[i]))
			((Elf64_Sym *)lean->elf.symbols)[i].st_info = ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE);
	for (size_t i = 1; i < lean->types.count && !size_type; i++)
		if (btf_is_int(lean->types.items[i]) && lean->types.items[i]->size == sizeof(uint32_t))
			size_type = (uint32_t)i;
	for (size_t i = 1; i < lean->types.count; i++) {
		struct btf_type *type = lean->types.items[i];

		if (!btf_is_datasec(type) || strcmp(lean->texts + type->name_off, ".ksyms") != 0)
			continue;
		for (unsigned k = 0; k < btf_vlen(type); k++) {
			struct btf_var_secinfo *entry = &btf_var_secinfos(type)[k];
			struct btf_type *of = lean->types.items[entry->type];

			if (btf_is_var(of)) {
				*of = (struct btf_type){of->name_off, BTF_KIND_INT << 24, {sizeof(uint32_t)}};
				*(uint32_t *)(of + 1) = 32;
			} else {
				*of = (struct btf_type){of->name_off, BTF_KIND_FWD << 24, {0}};
			}
			*(struct btf_member *)entry = (struct btf_member){.type = size_type};
		}
		*type = (struct btf_type){0, BTF_KIND_UNION << 24 | btf_vlen(type), {sizeof(uint32_t)}};
	}
}

/* A section's name is in the ELF file and in .BTF.ext. */
static void rename_texts(struct lean *lean, const char *from, char letter)
{
	uint32_t parts[][2] = {{lean->ext->func_off, lean->ext->func_len}, {lean->ext->relo_off, lean->ext->relo_len}};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		char *at = (char *)lean->ext + lean->ext->head_len + parts[i][0], *end = at + parts[i][1];
		uint32_t size = parts[i][1] ? *(uint32_t *)at : 0;

		for (at += sizeof(uint32_t); at < end; at += 2 * sizeof(uint32_t) + ((uint32_t *)at)[1] * size) {
			char *name = lean->texts + ((uint32_t *)at)[0];

			if (strcmp(name + 1, from + 1) == 0)
				*name = letter;
		}
	}
}

static void rename_section(struct lean *lean, unsigned section)
{
	char *name = (char *)elf_section_name(&lean->elf, section), old[128];
	const char *target;
	uint32_t kind;

	target = target_of(lean, section, &kind);

	if (!target)
		return;
	snprintf(old, sizeof(old), "%s", name);
	name[0] = (char)(name[0] - 'a' + 'A');
	rename_texts(lean, old, name[0]);
	*(uint32_t *)map_put(&targets, name, NULL) = number_of(lean, kind, target);
}

static int answer_all(struct lean *lean)
{
	int r = each_relocation(lean, answer_relocation, true);

	for (unsigned i = 1; r == 0 && i < lean->elf.header->e_shnum; i++) {
		Elf64_Shdr *section = (Elf64_Shdr *)&lean->elf.sections[i];

		if (section->sh_size && section->sh_type == SHT_REL)
			answer_externs(lean, section);
	}
	forget_externs(lean);
	for (unsigned i = 1; r == 0 && i < lean->elf.header->e_shnum; i++)
		if (lean->elf.sections[i].sh_size && lean->elf.sections[i].sh_flags & SHF_EXECINSTR)
			rename_section(lean, i);
	return r;
}

int lean_make(void *object, int *ret_types_fd)
{
	_cleanup_(lean_done) struct lean lean = {.names = MAP_INIT(0, 1, 4096)};
	/* The memfd is accessible only through /proc/self/fd. */
	int r = access("/proc/self/fd", X_OK) < 0 ? -errno : open_object(&lean, object);

	if (r == 0)
		r = note_all(&lean);
	if (r == 0)
		r = register_kinds();
	if (r == 0)
		r = types_cut(&lean.names, lean.numbers.items, lean.numbers.count, ret_types_fd);
	return r < 0 ? r : answer_all(&lean);
}
