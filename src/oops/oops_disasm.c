/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oops/oops_disasm.h"

#include <capstone/capstone.h>
#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "base/buf.h"

/* 8 MB that only a report with code needs: loaded then. */
/* The version of the header: its structures are those of that library. */
#define TEXT_OF(number)     #number
#define LIBRARY_OF(version) "libcapstone.so." TEXT_OF(version)
#define CAPSTONE_LIBRARY    LIBRARY_OF(CS_API_MAJOR)

static struct {
	typeof(cs_open) *open;
	typeof(cs_close) *close;
	typeof(cs_option) *option;
	typeof(cs_disasm) *disasm;
	typeof(cs_free) *free;
	typeof(cs_reg_name) *reg_name;
	typeof(cs_regs_access) *access;
} capstone;

static int load_capstone(struct why *why)
{
	void *library = capstone.open ? NULL : dlopen(CAPSTONE_LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (capstone.open)
		return 0;
	if (!library)
		return why_set(why, -ENOENT, "cannot load libcapstone, needed to disassemble: %s", dlerror());
	*(void **)&capstone.close = dlsym(library, "cs_close");
	*(void **)&capstone.option = dlsym(library, "cs_option");
	*(void **)&capstone.disasm = dlsym(library, "cs_disasm");
	*(void **)&capstone.free = dlsym(library, "cs_free");
	*(void **)&capstone.reg_name = dlsym(library, "cs_reg_name");
	*(void **)&capstone.access = dlsym(library, "cs_regs_access");
	if (capstone.close && capstone.option && capstone.disasm && capstone.free && capstone.reg_name &&
	    capstone.access)
		*(void **)&capstone.open = dlsym(library, "cs_open");
	return capstone.open ? 0 : why_set(why, -ENOENT, "%s is not a usable libcapstone", CAPSTONE_LIBRARY);
}

static const struct {
	const char *arch;
	cs_arch cs_arch;
	cs_mode mode;
	bool fixed; /* instructions of 4 bytes */
} machines[] = {
	{"x86_64", CS_ARCH_X86, CS_MODE_64, false},
	{"i386", CS_ARCH_X86, CS_MODE_32, false},
	{"arm64", CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN, true},
};

static int open_machine(const struct oops *oops, csh *ret_handle)
{
	for (size_t i = 0; i < ARRAY_SIZE(machines); i++)
		if (oops->report.arch && strcmp(machines[i].arch, oops->report.arch) == 0) {
			if (capstone.open(machines[i].cs_arch, machines[i].mode, ret_handle) != CS_ERR_OK)
				return -EINVAL;
			return machines[i].fixed;
		}
	return -ENOENT;
}

/*
 * The kernel prints bytes from an arbitrary place before the fault: the first start from which instructions end exactly
 * where the fault begins is nearly always right, since x86 code falls into step within a few instructions.
 */
static size_t find_start(csh handle, const struct oops_bytes *code)
{
	for (size_t start = 0; start < code->fault; start++) {
		cs_insn *instructions;
		size_t count = capstone.disasm(handle, code->bytes + start, code->fault - start, 0, 0, &instructions);
		size_t end = count ? instructions[count - 1].address + instructions[count - 1].size : 0;

		if (count)
			capstone.free(instructions, count);
		if (end == code->fault - start)
			return start;
	}
	return code->fault;
}

static void add_instruction(struct oops *oops, const cs_insn *insn, size_t at)
{
	_cleanup_buf_ struct buf bytes = BUF_INIT(128);

	for (unsigned i = 0; i < insn->size; i++)
		buf_add_format(&bytes, "%s%02x", i ? " " : "", insn->bytes[i]);
	vec_push(&oops->instructions,
		 (struct oops_instruction){.bytes = oops_keep(oops, buf_text(&bytes), bytes.len),
					   .text = oops_keep_format(oops, "%s%s%s", insn->mnemonic,
								    insn->op_str[0] ? " " : "", insn->op_str),
					   .fault = at == oops->code.fault});
}

static void disassemble(struct oops *oops, csh handle, bool fixed)
{
	const struct oops_bytes *code = &oops->code;
	size_t at = fixed ? 0 : find_start(handle, code);
	/* Targets of jumps are then offsets in the function, as in f+0x68. */
	uint64_t base = oops->report.offset == UINT32_MAX ? 0 : oops->report.offset - code->fault;

	while (at < code->count) {
		cs_insn *insn;

		if (!capstone.disasm(handle, code->bytes + at, code->count - at, base + at, 1, &insn))
			break;
		/* What stands before the function is none of it. */
		if (oops->report.offset == UINT32_MAX || at + oops->report.offset >= code->fault)
			add_instruction(oops, insn, at);
		at += insn->size;
		capstone.free(insn, 1);
	}
}

int oops_disasm_all(struct oops_list *list, struct why *why)
{
	vec_each(&list->items, item) {
		struct oops *oops = *item;
		csh handle;
		int r;

		if (oops->code.count == 0 || oops->code.fault == SIZE_MAX || oops->instructions.count)
			continue;
		r = load_capstone(why);
		if (r < 0)
			return r;
		r = open_machine(oops, &handle);
		if (r < 0)
			continue;
		disassemble(oops, handle, r);
		capstone.close(&handle);
		oops_settle(oops);
	}
	return 0;
}

/* --- what instructions do --- */

/* "eax", "ax" and "al" are parts of RAX; "w3" of x3. */
static void name_register(csh handle, unsigned reg, bool fixed, bool is_32, char name[8])
{
	static const char *const pairs[] = {"ax", "bx", "cx", "dx", "si", "di", "bp", "sp"};
	const char *text = reg ? capstone.reg_name(handle, reg) : NULL;

	name[0] = '\0';
	if (!text || strlen(text) > 6)
		return;
	if (fixed) {
		snprintf(name, 8, "%s%s", text[0] == 'w' && isdigit((unsigned char)text[1]) ? "x" : "",
			 text[0] == 'w' && isdigit((unsigned char)text[1]) ? text + 1 : text);
		return;
	}
	if (text[0] == 'r' && isdigit((unsigned char)text[1])) {
		size_t digits = strspn(text + 1, "0123456789");

		snprintf(name, 8, "R%s%.*s", digits == 1 ? "0" : "", (int)digits, text + 1);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		const char *plain = text + (strlen(text) == 3 && (text[0] == 'r' || text[0] == 'e'));

		if (plain[0] != pairs[i][0] || (plain[1] != pairs[i][1] && plain[1] != 'l' && plain[1] != 'h'))
			continue;
		snprintf(name, 8, "%c%c%c", is_32 ? 'E' : 'R', toupper((unsigned char)pairs[i][0]),
			 toupper((unsigned char)pairs[i][1]));
		return;
	}
}

struct machine {
	csh handle;
	bool fixed, is_32;
};

#define NAME(reg, name) name_register(machine->handle, (reg), machine->fixed, machine->is_32, (name))

static void read_x86(const struct machine *machine, const cs_insn *insn, struct oops_step *step)
{
	const cs_x86 *detail = &insn->detail->x86;
	const cs_x86_op *first = &detail->operands[0], *second = &detail->operands[1];

	for (unsigned i = 0; i < detail->op_count; i++)
		if (detail->operands[i].type == X86_OP_MEM && !detail->operands[i].mem.index) {
			NAME(detail->operands[i].mem.base, step->from);
			step->disp = detail->operands[i].mem.disp;
			step->uses = step->from[0];
		}
	if (insn->id != X86_INS_MOV || detail->op_count != 2 || first->type != X86_OP_REG)
		return;
	NAME(first->reg, step->to);
	if (second->type == X86_OP_REG) {
		NAME(second->reg, step->from);
		step->copies = true;
	} else if (second->type == X86_OP_MEM) {
		step->loads = step->uses;
	}
}

static void read_arm64(const struct machine *machine, const cs_insn *insn, struct oops_step *step)
{
	const cs_arm64 *detail = &insn->detail->arm64;
	const cs_arm64_op *first = &detail->operands[0], *second = &detail->operands[1];

	for (unsigned i = 0; i < detail->op_count; i++)
		if (detail->operands[i].type == ARM64_OP_MEM && !detail->operands[i].mem.index) {
			NAME(detail->operands[i].mem.base, step->from);
			step->disp = detail->operands[i].mem.disp;
			step->uses = step->from[0];
		}
	if (detail->op_count != 2 || first->type != ARM64_OP_REG)
		return;
	NAME(first->reg, step->to);
	if (insn->id == ARM64_INS_MOV && second->type == ARM64_OP_REG) {
		NAME(second->reg, step->from);
		step->copies = true;
	} else if (insn->id == ARM64_INS_LDR && second->type == ARM64_OP_MEM) {
		step->loads = step->uses;
	}
}

static void read_step(const struct machine *machine, const cs_insn *insn, struct oops_step *step)
{
	cs_regs reads, writes;
	uint8_t read_count, write_count;

	*step = (struct oops_step){};
	for (unsigned i = 0; i < insn->detail->groups_count; i++)
		switch (insn->detail->groups[i]) {
		case CS_GRP_CALL:
			step->is_call = true;
			break;
		case CS_GRP_RET:
			step->ends = true;
			break;
		case CS_GRP_JUMP:
			step->ends = machine->fixed
					     ? insn->id == ARM64_INS_B && insn->detail->arm64.cc <= ARM64_CC_INVALID
					     : insn->id == X86_INS_JMP;
			break;
		}
	if (machine->fixed)
		read_arm64(machine, insn, step);
	else
		read_x86(machine, insn, step);
	if (capstone.access(machine->handle, insn, reads, &read_count, writes, &write_count) != CS_ERR_OK)
		return;
	for (unsigned i = 0; i < write_count && step->write_count < ARRAY_SIZE(step->writes); i++) {
		NAME(writes[i], step->writes[step->write_count]);
		step->write_count += step->writes[step->write_count][0] != '\0';
	}
}

size_t oops_disasm_steps(const struct oops *oops, struct oops_step steps[OOPS_STEPS_MAX])
{
	const struct oops_bytes *code = &oops->code;
	struct machine machine = {};
	struct why why;
	size_t count = 0, at;
	int fixed;

	if (code->fault >= code->count || oops->report.offset == UINT32_MAX || load_capstone(&why) < 0)
		return 0;
	fixed = open_machine(oops, &machine.handle);
	if (fixed < 0)
		return 0;
	machine.fixed = fixed;
	machine.is_32 = strcmp(oops->report.arch, "i386") == 0;
	at = fixed ? 0 : find_start(machine.handle, code);
	(void)capstone.option(machine.handle, CS_OPT_DETAIL, CS_OPT_ON);
	while (at <= code->fault && count < OOPS_STEPS_MAX) {
		cs_insn *insn;

		if (!capstone.disasm(machine.handle, code->bytes + at, code->count - at, 0, 1, &insn))
			break;
		read_step(&machine, insn, &steps[count]);
		/* Bytes before the function's start are of another one. */
		steps[count].offset = (uint32_t)(oops->report.offset - code->fault + at);
		count += steps[count].offset <= oops->report.offset;
		at += insn->size;
		capstone.free(insn, 1);
	}
	capstone.close(&machine.handle);
	return at > code->fault && count && steps[count - 1].offset == oops->report.offset ? count : 0;
}
