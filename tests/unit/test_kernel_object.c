/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <bpf/libbpf.h>
#include <stdarg.h>

#include "base/alloc.h"
#include "base/embed.h"
#include "event/core/config.h"
#include "kernel/capability.h"
#include "kernel/elf_view.h"
#include "kernel/feature/probe_kind.h"
#include "kernel/lean.h"
#include "kernel/libbpf_words.h"
#include "kernel/object.h"
#include "kernel/slim.h"
#include "unit.h"

static const char *gist_of(const char *words)
{
	static char gist[128];

	libbpf_words_gist_of(words, gist, sizeof(gist));
	return gist;
}

TEST(gist_of_a_refused_program)
{
	static const char words[] = "libbpf: prog 'on_send': BPF program load failed: Permission denied\n"
				    "libbpf: prog 'on_send': -- BEGIN PROG LOAD LOG --\n"
				    "0: R1=ctx(off=0,imm=0)\n"
				    "; return *p;\n"
				    "R1 invalid mem access 'scalar'\n"
				    "processed 3 insns (limit 1000000) max_states_per_insn 0 total_states 0\n"
				    "-- END PROG LOAD LOG --\n"
				    "libbpf: prog 'on_send': failed to load: -13\n"
				    "libbpf: failed to load object 'x'\n";

	CHECK_EQ_TEXT(gist_of(words), "R1 invalid mem access 'scalar'");
}

TEST(gist_of_plain_words)
{
	CHECK_EQ_TEXT(gist_of("libbpf: map 'm': failed to make it\n"), "failed to make it");
	CHECK_EQ_TEXT(gist_of("libbpf: Error loading vmlinux BTF: -3\nlibbpf: failed to load object 'p'\n"),
		      "Error loading vmlinux BTF: -3");
	CHECK_EQ_TEXT(gist_of("libbpf: prog 'unfinished"), "prog 'unfinished");
}

TEST(gist_names_helpers)
{
	CHECK_EQ_TEXT(gist_of("invalid func unknown#162\n"),
		      "programs of this kind have no helper bpf_sock_from_file on this kernel");
	CHECK_EQ_TEXT(gist_of("unknown func bpf_get_attach_cookie#174\n"),
		      "programs of this kind have no helper bpf_get_attach_cookie on this kernel");
	CHECK_EQ_TEXT(gist_of("invalid func unknown#99999\n"), "invalid func unknown#99999");
	CHECK_EQ_TEXT(gist_of("back-edge in func #3\n"), "back-edge in func #3");
}

TEST(gist_of_noise)
{
	CHECK_EQ_TEXT(gist_of(""), "");
	CHECK_EQ_TEXT(gist_of("\n\n\n"), "");
	CHECK_EQ_TEXT(gist_of("libbpf: prog 'x': BPF program load failed: Operation not permitted\n"
			      "libbpf: permission error while running as root; try raising 'ulimit -l'? current value: "
			      "8 MiB\n"
			      "libbpf: prog 'x': failed to load: -1\n"),
		      "");
}

TEST(gist_that_does_not_fit)
{
	char words[300], gist[8];

	memset(words, 'a', sizeof(words) - 1);
	words[sizeof(words) - 1] = '\0';
	libbpf_words_gist_of(words, gist, sizeof(gist));
	CHECK_EQ_TEXT(gist, "aaaaaaa");
}

static libbpf_print_fn_t speak_to;

/* Like libbpf's print callback. */
static void speak(enum libbpf_print_level level, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	speak_to(level, format, args);
	va_end(args);
}

TEST(words_are_kept_up_to_a_limit)
{
	char *log = xmalloc(300000);

	libbpf_words_begin();
	CHECK_EQ_TEXT(libbpf_words_gist(), "");
	speak_to = libbpf_set_print(NULL);
	REQUIRE(speak_to);
	speak(LIBBPF_WARN, "libbpf: map '%s': too large\n", "m");
	speak(LIBBPF_INFO, "libbpf: %s", "only an information\n");
	speak(LIBBPF_DEBUG, "%s", "\n\n");
	CHECK_EQ_TEXT(libbpf_words_gist(), "too large");
	/* A verifier log in one piece, far larger than the buffer: its last lines hold the reason. */
	memset(log, 'x', 299999);
	log[299999] = '\0';
	for (size_t i = 80; i < 299999; i += 80)
		log[i] = '\n';
	speak(LIBBPF_WARN, "-- BEGIN PROG LOAD LOG --\n%s\n%s\nprocessed 9 insns\n-- END PROG LOAD LOG --\n", log,
	      "invalid access to packet");
	CHECK_EQ_TEXT(libbpf_words_gist(), "invalid access to packet");
	for (unsigned i = 0; i < 5000; i++)
		speak(LIBBPF_WARN, "libbpf: line %u of many that push older ones out\n", i);
	CHECK_EQ_TEXT(libbpf_words_gist(), "line 4999 of many that push older ones out");
	libbpf_words_begin();
	CHECK_EQ_TEXT(libbpf_words_gist(), "");
	free(log);
}

TEST(object_that_is_not_there)
{
	struct kernel_object *object = NULL;
	struct why why;

	CHECK_ERR(kernel_object_open("nosuch.bpf.o", &object, &why), -ENOENT);
	CHECK_HAS_TEXT(why.text, "nosuch.bpf.o");
	CHECK(!object);
	kernel_object_close(NULL);
}

/* Opening needs neither privileges nor a kernel with BPF. */
TEST(object_opened)
{
	_cleanup_object_ struct kernel_object *object = NULL;
	struct bpf_program *program;
	struct why why;
	uint64_t *fired;
	uint32_t *tgid;

	REQUIRE(kernel_object_open("probe.bpf.o", &object, &why) == 0);
	program = kernel_object_program(object, "probe_tp_btf");
	REQUIRE(program);
	CHECK(!bpf_program__autoload(program));
	CHECK_OK(kernel_object_choose(object, "probe_tp_btf", &why));
	CHECK(bpf_program__autoload(program));
	CHECK_ERR(kernel_object_choose(object, "nosuch", &why), -ENOENT);
	CHECK_HAS_TEXT(why.text, "nosuch");
	CHECK_ERR(kernel_object_attach(object, "nosuch", &why), -ENOENT);
	CHECK_OK(kernel_object_omit_map(object, "probe_ring"));
	CHECK_ERR(kernel_object_omit_map(object, "nosuch"), -ENOENT);
	CHECK_ERR(kernel_object_map_fd(object, "nosuch"), -ENOENT);
	CHECK_ERR(kernel_object_map_fd(object, "probe_ring"), -EBADF);
	CHECK_OK(kernel_object_variable(object, "probe_fired", PROBE_SLOTS * sizeof(*fired), (void **)&fired));
	CHECK_OK(kernel_object_variable(object, "probe_tgid", sizeof(*tgid), (void **)&tgid));
	CHECK_ERR(kernel_object_variable(object, "probe_tgid", sizeof(uint64_t), (void **)&tgid), -EINVAL);
	CHECK_ERR(kernel_object_variable(object, "nosuch", 4, (void **)&tgid), -ENOENT);
}

/* Chosen programs are the same as in the whole object; others are gone, unless they share a section. */
TEST(object_opened_with_what_was_chosen)
{
	_cleanup_object_ struct kernel_object *whole = NULL, *part = NULL;
	struct bpf_program *in_whole, *in_part;
	struct why why;
	void *config;

	REQUIRE(kernel_object_open("events.bpf.o", &whole, &why) == 0);
	REQUIRE(kernel_object_find("events.bpf.o", &part, &why) == 0);
	CHECK_EQ_TEXT(kernel_object_section(part, "sock_send_length"), "tp_btf/sock_send_length");
	CHECK(!kernel_object_section(part, "nosuch"));
	CHECK_OK(kernel_object_choose(part, "sock_send_length", &why));
	REQUIRE(kernel_object_open_chosen(part, &why) == 0);
	in_whole = kernel_object_program(whole, "sock_send_length");
	in_part = kernel_object_program(part, "sock_send_length");
	REQUIRE(in_whole && in_part);
	CHECK(bpf_program__autoload(in_part));
	CHECK(!bpf_program__autoload(in_whole));
	REQUIRE(bpf_program__insn_cnt(in_part) == bpf_program__insn_cnt(in_whole));
	CHECK(memcmp(bpf_program__insns(in_part), bpf_program__insns(in_whole),
		     bpf_program__insn_cnt(in_part) * sizeof(struct bpf_insn)) == 0);
	CHECK(kernel_object_program(part, "sock_owner_send"));
	CHECK(!bpf_program__autoload(kernel_object_program(part, "sock_owner_send")));
	CHECK(kernel_object_program(whole, "sock_recv_length"));
	CHECK(!kernel_object_program(part, "sock_recv_length"));
	CHECK_OK(kernel_object_variable(part, "sock_send_config", sizeof(struct event_config), &config));
}

static bool is_named(const char *program, void *context)
{
	return strcmp(program, context) == 0;
}

/* A variable of the kernel is an id like a function's: the whole BTF (50 ms) is not needed for it. */
TEST(kernel_variable_needs_no_whole_btf)
{
	size_t size;
	_cleanup_free_ void *data =
		slim_copy(embed_find("events.bpf.o"), is_named, (void *)"softirq_find_symbol", &size);
	_cleanup_close_ int types = -1;

	if (access("/sys/kernel/btf/vmlinux", R_OK) < 0)
		SKIP("the kernel shows no BTF");
	CHECK_OK(lean_make(data, &types));
	CHECK(types >= 0);
}

/* Functions of .text in a file. */
static size_t count_functions(const struct elf *elf)
{
	size_t count = 0;

	for (size_t i = 0; i < elf->symbol_count; i++) {
		const Elf64_Sym *symbol = &elf->symbols[i];

		if (ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx < elf->header->e_shnum)
			count += strcmp(elf_section_name(elf, symbol->st_shndx), ".text") == 0;
	}
	return count;
}

/* Whether every function that this one calls, by a relative address, is one in the file. */
static bool calls_functions(const struct elf *elf, const Elf64_Sym *caller)
{
	const struct bpf_insn *code = (const void *)(elf->data + elf->sections[caller->st_shndx].sh_offset);
	bool all = true;

	for (uint64_t i = caller->st_value / 8; i < (caller->st_value + caller->st_size) / 8; i++) {
		uint64_t target = (uint64_t)((int64_t)i + 1 + code[i].imm) * 8;
		bool found =
			code[i].code != (BPF_JMP | BPF_CALL) || code[i].src_reg != BPF_PSEUDO_CALL || code[i].imm == -1;

		for (size_t k = 0; k < elf->symbol_count && !found; k++)
			found = elf->symbols[k].st_shndx == caller->st_shndx && elf->symbols[k].st_value == target &&
				ELF64_ST_TYPE(elf->symbols[k].st_info) == STT_FUNC;
		all &= found;
	}
	return all;
}

/* Of the functions that programs share only those are left that the chosen one gets to; libbpf relocates the rest. */
TEST(functions_that_nobody_calls_are_gone)
{
	size_t size, all, left;
	_cleanup_free_ void *data =
		slim_copy(embed_find("events.bpf.o"), is_named, (void *)"tcp_retransmit_skb", &size);
	struct elf whole = elf_of(embed_find("events.bpf.o")->begin), part = elf_of(data);

	all = count_functions(&whole);
	left = count_functions(&part);
	/* event_filter, event_add and what they call. */
	unit_note("%zu of %zu", left, all);
	CHECK(left >= 2 && left * 10 < all);
	for (size_t i = 0; i < part.symbol_count; i++)
		if (ELF64_ST_TYPE(part.symbols[i].st_info) == STT_FUNC && part.symbols[i].st_shndx < SHN_LORESERVE &&
		    strcmp(elf_section_name(&part, part.symbols[i].st_shndx), ".text") == 0)
			CHECK(calls_functions(&part, &part.symbols[i]));
}

/* Where no hook is available: the reason comes after the object has been opened. */
TEST(object_opened_without_a_program)
{
	_cleanup_object_ struct kernel_object *object = NULL;
	struct why why;

	REQUIRE(kernel_object_find("events.bpf.o", &object, &why) == 0);
	CHECK_OK(kernel_object_open_chosen(object, &why));
}

TEST(choosing_what_is_not_there_is_reported_when_it_is_opened)
{
	_cleanup_object_ struct kernel_object *object = NULL;
	struct why why;

	REQUIRE(kernel_object_find("events.bpf.o", &object, &why) == 0);
	CHECK_OK(kernel_object_choose(object, "nosuch", &why));
	CHECK_ERR(kernel_object_open_chosen(object, &why), -ENOENT);
	CHECK_HAS_TEXT(why.text, "nosuch");
}

/* A probe whose program is missing in its object would look like a kernel without support. */
TEST(every_probe_has_its_program)
{
	for (size_t i = 0; i < probe_kind_count; i++) {
		const struct probe_kind *kind = &probe_kinds[i];
		_cleanup_object_ struct kernel_object *object = NULL;
		struct why why;

		unit_note("%s", kind->name);
		REQUIRE(kernel_object_open(kind->object ?: "probe.bpf.o", &object, &why) == 0);
		CHECK(kernel_object_program(object, kind->program));
		CHECK(kind->noise);
		CHECK_EQ_UINT(kind->slot, i);
		CHECK_EQ_TEXT(probe_name(kind->slot), kind->name);
		for (size_t k = 0; k < i; k++)
			CHECK(strcmp(probe_kinds[k].name, kind->name) != 0);
	}
}

TEST(capability_words)
{
	char text[64];

	capability_names(0, text, sizeof(text));
	CHECK_EQ_TEXT(text, "");
	capability_names(CAP_BIT(CAP_BPF), text, sizeof(text));
	CHECK_EQ_TEXT(text, "CAP_BPF");
	capability_names(CAP_BIT(CAP_BPF) | CAP_BIT(CAP_PERFMON) | CAP_BIT(CAP_NET_ADMIN), text, sizeof(text));
	CHECK_EQ_TEXT(text, "CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN");
	capability_setcap(CAP_BIT(CAP_BPF) | CAP_BIT(CAP_PERFMON), text, sizeof(text));
	CHECK_EQ_TEXT(text, "cap_bpf,cap_perfmon");
	/* Too long for the buffer: truncated. */
	capability_names(UINT64_MAX, text, 10);
	CHECK(strlen(text) < 10);
}
