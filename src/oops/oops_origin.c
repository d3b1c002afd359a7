/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oops/oops_origin.h"

#include <inttypes.h>
#include <string.h>

#include "oops/oops_disasm.h"

/* Pointers that are followed back: skb->dev->qdisc. */
#define DEPTH_MAX 4

/* Behind endbr64. */
#define ENTRY_MAX 8

struct search {
	const struct oops_types *types;
	const struct oops_step *steps;
	const char *const *parameters; /* registers */
	size_t parameter_count;
	bool from_entry; /* the first step is the function's first instruction */
};

static const char *const x86_parameters[] = {"RDI", "RSI", "RDX", "RCX", "R08", "R09"};
static const char *const arm64_parameters[] = {"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7"};

/* Registers that a function gives back as they were. */
static const char *const x86_kept[] = {"RBX", "RBP", "RSP", "R12", "R13", "R14", "R15"};
static const char *const arm64_kept[] = {"x19", "x20", "x21", "x22", "x23", "x24",
					 "x25", "x26", "x27", "x28", "x29", "sp"};

static bool is_among(const char *reg, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], reg) == 0)
			return true;
	return false;
}

static bool changes(const struct oops_step *step, const char *reg)
{
	/* The call of ftrace at the entry keeps everything. */
	if (step->is_call && step->offset > ENTRY_MAX && !is_among(reg, x86_kept, ARRAY_SIZE(x86_kept)) &&
	    !is_among(reg, arm64_kept, ARRAY_SIZE(arm64_kept)))
		return true;
	for (unsigned i = 0; i < step->write_count; i++)
		if (strcmp(step->writes[i], reg) == 0)
			return true;
	return false;
}

/* base->member, as the source would have it. */
static bool follow(const struct search *search, const struct oops_value *base, int64_t disp,
		   struct oops_value *ret_value)
{
	struct oops_value member;

	if (!base->type_name[0] || disp < 0 ||
	    !search->types->member(search->types->context, base->type, (uint64_t)disp, &member))
		return false;
	*ret_value = member;
	snprintf(ret_value->text, sizeof(ret_value->text), "%.75s->%.80s", base->text, member.text);
	return true;
}

static bool find_parameter(const struct search *search, const char *reg, struct oops_value *ret_value)
{
	for (size_t i = 0; i < search->parameter_count; i++)
		if (strcmp(search->parameters[i], reg) == 0)
			return search->types->parameter(search->types->context, (unsigned)i, ret_value);
	return false;
}

/* What the register held before the step of this number. */
static bool resolve(const struct search *search, const char *reg, size_t number, unsigned depth,
		    struct oops_value *ret_value)
{
	struct oops_value base;

	if (depth > DEPTH_MAX)
		return false;
	if (search->types->variable &&
	    search->types->variable(search->types->context, reg, search->steps[number].offset, ret_value))
		return true;
	for (size_t i = number; i-- > 0;) {
		const struct oops_step *step = &search->steps[i];

		if (step->ends)
			return false;
		if (!changes(step, reg))
			continue;
		if (step->is_call || strcmp(step->to, reg) != 0)
			return false;
		if (step->copies)
			return resolve(search, step->from, i, depth + 1, ret_value);
		return step->loads && resolve(search, step->from, i, depth + 1, &base) &&
		       follow(search, &base, step->disp, ret_value);
	}
	return search->from_entry && find_parameter(search, reg, ret_value);
}

static void name_registers(struct oops *oops, const struct search *search, size_t last)
{
	vec_each(&oops->registers, reg) {
		struct oops_value value;

		/* The stack pointer is no variable of anybody. */
		if (reg->holds || strcmp(reg->name, "RSP") == 0 || strcmp(reg->name, "sp") == 0 ||
		    !resolve(search, reg->name, last, 0, &value))
			continue;
		reg->holds = value.type_name[0]
				     ? oops_keep_format(oops, "%s (struct %s *)", value.text, value.type_name)
				     : oops_keep(oops, value.text, strlen(value.text));
	}
}

void oops_origin_find(struct oops *oops, const struct oops_types *types)
{
	bool is_arm64 = oops->report.arch && strcmp(oops->report.arch, "arm64") == 0;
	struct oops_step *steps = xmalloc(OOPS_STEPS_MAX * sizeof(*steps));
	struct search search = {.types = types, .steps = steps};
	struct oops_value base, member;
	size_t count;

	/* Of 32 bits, parameters of exported functions are on the stack. */
	search.parameters = is_arm64 ? arm64_parameters : x86_parameters;
	search.parameter_count = is_arm64 ? ARRAY_SIZE(arm64_parameters) : ARRAY_SIZE(x86_parameters);
	count = oops->report.arch && strcmp(oops->report.arch, "i386") != 0 ? oops_disasm_steps(oops, steps) : 0;
	if (count) {
		const struct oops_step *fault = &steps[count - 1];

		search.from_entry = steps[0].offset == 0;
		name_registers(oops, &search, count - 1);
		if (!oops->report.member && fault->uses && resolve(&search, fault->from, count - 1, 0, &base) &&
		    follow(&search, &base, fault->disp, &member))
			oops->report.member = oops_keep_format(oops, "%s (struct %s, offset 0x%" PRIx64 ")",
							       member.text, base.type_name, (uint64_t)fault->disp);
	}
	free(steps);
	oops_settle(oops);
}
