/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oops/oops_state.h"

#include <ctype.h>
#include <string.h>

#include "oops/oops_layer.h"
#include "oops/piece.h"

/* --- call trace --- */

static const struct {
	const char *tag;
	uint8_t section;
} tags[] = {
	{"<IRQ>", OOPS_ON_IRQ},
	{"</IRQ>", OOPS_ON_TASK},
	{"<SOFTIRQ>", OOPS_ON_IRQ},
	{"</SOFTIRQ>", OOPS_ON_TASK},
	{"<NMI>", OOPS_ON_NMI},
	{"</NMI>", OOPS_ON_TASK},
	{"<TASK>", OOPS_ON_TASK},
	{"</TASK>", OOPS_ON_TASK},
	{"<EOI>", OOPS_ON_TASK},
	{"<<EOE>>", OOPS_ON_TASK},
	{"<#DF>", OOPS_ON_NMI},
	{"</#DF>", OOPS_ON_TASK},
	{"<ENTRY_TRAMPOLINE>", OOPS_ON_TASK},
	{"</ENTRY_TRAMPOLINE>", OOPS_ON_TASK},
};

static const char *skip_tags(struct oops_body *body, const char *text, bool *ret_any)
{
	for (size_t i = 0; i < ARRAY_SIZE(tags);) {
		const char *rest = piece_after(text, tags[i].tag);

		if (!rest) {
			i++;
			continue;
		}
		body->section = tags[i].section;
		*ret_any = true;
		text = piece_blanks(rest);
		i = 0;
	}
	return text;
}

/* "[<c10a7abd>] ", "[<0>] " */
static const char *skip_address(const char *text)
{
	uint64_t address;
	const char *at = piece_after(text, "[<");

	at = at ? piece_hex(at, &address) : NULL;
	return at && piece_after(at, ">]") ? piece_blanks(at + 2) : text;
}

/* Where memory was allocated or freed: the first function that is not the allocator's. */
static void keep_other_end(struct oops_body *body, const struct piece_symbol *symbol)
{
	struct oops *oops = body->oops;
	const char **place = body->part == OOPS_PART_FREED ? &oops->report.freed : &oops->report.allocated;
	const char *name;

	if (body->part == OOPS_PART_OTHER || *place)
		return;
	name = oops_keep(oops, symbol->name, symbol->name_len);
	if (!oops_layer_is_machinery(name))
		*place = name;
}

static void add_frame(struct oops_body *body, const struct piece_symbol *symbol, bool reliable)
{
	struct oops *oops = body->oops;
	struct oops_frame *frame;

	if (body->part != OOPS_PART_MAIN) {
		keep_other_end(body, symbol);
		return;
	}
	if (oops->frames.count >= OOPS_FRAMES_MAX) {
		oops->frames_cut++;
		return;
	}
	frame = vec_add(&oops->frames);
	frame->function = oops_keep(oops, symbol->name, symbol->name_len);
	frame->offset = symbol->offset;
	frame->size = symbol->size;
	frame->reliable = reliable;
	frame->section = body->section;
	if (symbol->module)
		frame->module = oops_keep(oops, symbol->module, symbol->module_len);
}

/* "tc_fill_qdisc (net/sched/sch_api.c:1191) sch_x": a trace that decode_stacktrace.sh went over. */
static bool add_decoded(struct oops_body *body, const char *text, bool reliable)
{
	struct piece_symbol symbol = {.name = text, .offset = UINT32_MAX, .size = UINT32_MAX};
	struct oops_frame *frame;
	size_t file_len;
	uint32_t line;

	while (isalnum((unsigned char)text[symbol.name_len]) || text[symbol.name_len] == '_' ||
	       text[symbol.name_len] == '.')
		symbol.name_len++;
	text += symbol.name_len;
	if (symbol.name_len == 0 || strncmp(text, " (", 2) != 0 || !piece_source(text + 2, &file_len, &line))
		return false;
	if (body->part != OOPS_PART_MAIN || body->oops->frames.count >= OOPS_FRAMES_MAX)
		return true;
	add_frame(body, &symbol, reliable);
	frame = &body->oops->frames.items[body->oops->frames.count - 1];
	frame->file = oops_keep(body->oops, text + 2, file_len);
	frame->line = line;
	return true;
}

bool oops_state_trace(struct oops_body *body, const char *text)
{
	struct piece_symbol symbol;
	bool tagged = false, reliable;
	uint64_t address;

	text = skip_address(skip_tags(body, text, &tagged));
	reliable = *text != '?';
	if (!reliable)
		text = piece_blanks(text + 1);
	if (*text == '(')
		text++;
	if (piece_symbol(text, &symbol)) {
		add_frame(body, &symbol, reliable);
		return true;
	}
	if (add_decoded(body, text, reliable))
		return true;
	/* Code without a name: of a module that is gone, or BPF without symbols. */
	if (text[0] == '0' && text[1] == 'x' && piece_hex(text, &address) && *piece_hex(text, &address) == '\0') {
		symbol = (struct piece_symbol){
			.name = text, .name_len = strlen(text), .offset = UINT32_MAX, .size = UINT32_MAX};
		add_frame(body, &symbol, reliable);
		return true;
	}
	return tagged || *text == '\0';
}

/* --- registers --- */

#define REGISTERS_MAX 64

static bool is_known_register(const struct oops *oops, const char *name, size_t len)
{
	for (size_t i = 0; i < oops->registers.count; i++)
		if (strlen(oops->registers.items[i].name) == len &&
		    memcmp(oops->registers.items[i].name, name, len) == 0)
			return true;
	return false;
}

static void add_register(struct oops *oops, const char *name, size_t len, uint64_t value)
{
	if (len == 3 && memcmp(name, "CR2", 3) == 0 && oops->report.address == UINT64_MAX)
		oops->report.address = value;
	if (!oops->report.arch && len >= 2)
		oops->report.arch = name[0] == 'R'   ? "x86_64"
				    : name[0] == 'x' ? "arm64"
				    : name[0] == 'E' ? "i386"
						     : NULL;
	if (oops->registers.count >= REGISTERS_MAX || is_known_register(oops, name, len))
		return;
	vec_push(&oops->registers, (struct oops_register){.name = oops_keep(oops, name, len), .value = value});
}

/* One "NAME: VALUE"; returns what follows, or NULL. RSP has a selector before the value. */
static const char *read_register(struct oops *oops, const char *text)
{
	const char *at = text, *digits;
	uint64_t value;
	size_t len;

	while (isalnum((unsigned char)*at))
		at++;
	len = (size_t)(at - text);
	at = piece_blanks(at);
	if (len < 2 || len > 6 || *at != ':')
		return NULL;
	digits = piece_blanks(at + 1);
	at = piece_hex(digits, &value);
	if (at && at - digits == 4 && *at == ':') {
		digits = at + 1;
		at = piece_hex(digits, &value);
	}
	/* Registers are printed with all their digits. */
	if (!at || (at - digits != 16 && at - digits != 8) || (*at && *at != ' '))
		return NULL;
	add_register(oops, text, len, value);
	return piece_blanks(at);
}

bool oops_state_registers(struct oops *oops, const char *text)
{
	const char *at = read_register(oops, text);

	if (!at)
		return false;
	while (at && *at)
		at = read_register(oops, at);
	return true;
}

/* --- code --- */

/* A word of arm64 is printed as a number: its bytes lie in memory the other way round. */
static void add_code(struct oops_bytes *code, uint64_t value, size_t bytes, bool is_fault)
{
	if (code->count + bytes > OOPS_CODE_MAX)
		return;
	if (is_fault && code->fault == SIZE_MAX)
		code->fault = code->count;
	for (size_t i = 0; i < bytes; i++)
		code->bytes[code->count++] = (uint8_t)(value >> (8 * i));
}

void oops_state_code(struct oops *oops, const char *text)
{
	for (text = piece_blanks(text); *text; text = piece_blanks(text)) {
		bool is_fault = *text == '<' || *text == '(';
		const char *digits = text + is_fault, *at;
		uint64_t value;

		at = piece_hex(digits, &value);
		if (!at || (at - digits != 2 && at - digits != 8))
			break;
		add_code(&oops->code, value, (size_t)(at - digits) / 2, is_fault);
		text = at + (is_fault && (*at == '>' || *at == ')'));
	}
}
