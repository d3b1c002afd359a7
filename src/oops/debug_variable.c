/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oops/debug_variable.h"

#include <string.h>

#include "oops/oops_origin.h"

struct source {
	Dwfl_Module *module;
	uint64_t entry;
	bool is_arm64;
};

/* Numbers of the ABI. */
static const char *const x86_numbers[] = {"RAX", "RDX", "RCX", "RBX", "RSI", "RDI", "RBP", "RSP",
					  "R08", "R09", "R10", "R11", "R12", "R13", "R14", "R15"};

static bool is_register(const struct source *source, unsigned number, const char *name)
{
	char text[8];

	if (!source->is_arm64)
		return number < ARRAY_SIZE(x86_numbers) && strcmp(x86_numbers[number], name) == 0;
	snprintf(text, sizeof(text), "x%u", number % 100);
	return strcmp(number == 31 ? "sp" : text, name) == 0;
}

/* The type of a DIE without typedef, const and volatile. */
static bool plain_type(Dwarf_Die *die, Dwarf_Die *ret_type)
{
	Dwarf_Die current = *die;

	for (unsigned i = 0; i < 16; i++) {
		Dwarf_Attribute attribute;
		Dwarf_Die type;

		if (!libdw.dwarf_attr_integrate(&current, DW_AT_type, &attribute) ||
		    !libdw.dwarf_formref_die(&attribute, &type))
			return false;
		switch (libdw.dwarf_tag(&type)) {
		case DW_TAG_typedef:
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_restrict_type:
			current = type;
			continue;
		default:
			*ret_type = type;
			return true;
		}
	}
	return false;
}

static bool is_structure(Dwarf_Die *type)
{
	return libdw.dwarf_tag(type) == DW_TAG_structure_type || libdw.dwarf_tag(type) == DW_TAG_union_type;
}

static void set_pointee(Dwarf_Die *variable, struct oops_value *value)
{
	Dwarf_Die pointer, pointee;
	const char *name;

	value->type_name[0] = '\0';
	if (!plain_type(variable, &pointer) || libdw.dwarf_tag(&pointer) != DW_TAG_pointer_type ||
	    !plain_type(&pointer, &pointee) || !is_structure(&pointee))
		return;
	name = libdw.dwarf_diename(&pointee);
	value->type = libdw.dwarf_dieoffset(&pointee);
	snprintf(value->type_name, sizeof(value->type_name), "%.79s", name ? name : "");
}

/* Whether the variable lies in that register at this address. */
static bool is_in_register(const struct source *source, Dwarf_Die *variable, uint64_t address, const char *reg)
{
	Dwarf_Attribute attribute;
	Dwarf_Op *ops;
	size_t count;

	if (!libdw.dwarf_attr_integrate(variable, DW_AT_location, &attribute) ||
	    libdw.dwarf_getlocation_addr(&attribute, address, &ops, &count, 1) != 1 || count != 1)
		return false;
	if (ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31)
		return is_register(source, ops[0].atom - DW_OP_reg0, reg);
	return ops[0].atom == DW_OP_regx && is_register(source, (unsigned)ops[0].number, reg);
}

static bool find_in_scope(const struct source *source, Dwarf_Die *scope, uint64_t address, const char *reg,
			  struct oops_value *ret_value)
{
	Dwarf_Die child;
	const char *name;
	int tag;

	if (libdw.dwarf_child(scope, &child) != 0)
		return false;
	do {
		tag = libdw.dwarf_tag(&child);
		if ((tag != DW_TAG_variable && tag != DW_TAG_formal_parameter) ||
		    !is_in_register(source, &child, address, reg))
			continue;
		name = libdw.dwarf_diename(&child);
		if (!name)
			continue;
		snprintf(ret_value->text, sizeof(ret_value->text), "%.79s", name);
		set_pointee(&child, ret_value);
		return true;
	} while (libdw.dwarf_siblingof(&child, &child) == 0);
	return false;
}

Dwarf_Die *debug_unit_find(Dwfl_Module *module, uint64_t address, Dwarf_Addr *ret_bias)
{
	Dwarf_Die *unit = libdw.dwfl_module_addrdie(module, address, ret_bias);

	if (unit)
		return unit;
	/* clang writes no table of addresses (.debug_aranges): each unit knows its own. */
	while ((unit = libdw.dwfl_module_nextcu(module, unit, ret_bias)))
		if (libdw.dwarf_haspc(unit, address - *ret_bias) > 0)
			return unit;
	return NULL;
}

static bool find_variable(const void *context, const char *reg, uint32_t offset, struct oops_value *ret_value)
{
	const struct source *source = context;
	Dwarf_Die *unit, *scopes = NULL;
	bool found = false;
	Dwarf_Addr bias;
	int count;

	unit = debug_unit_find(source->module, source->entry + offset, &bias);
	count = unit ? libdw.dwarf_getscopes(unit, source->entry + offset - bias, &scopes) : 0;
	/* The innermost scope first: an inlined function's own names. */
	for (int i = 0; i < count && !found; i++)
		found = find_in_scope(source, &scopes[i], source->entry + offset - bias, reg, ret_value);
	free(scopes);
	return found;
}

/* Its location is known at the entry as anywhere else. */
static bool find_parameter(const void *context, unsigned number, struct oops_value *ret_value)
{
	(void)context;
	(void)number;
	(void)ret_value;
	return false;
}

static uint64_t offset_of(Dwarf_Die *member)
{
	Dwarf_Attribute attribute;
	Dwarf_Word offset;

	if (libdw.dwarf_attr_integrate(member, DW_AT_data_member_location, &attribute) &&
	    libdw.dwarf_formudata(&attribute, &offset) == 0)
		return offset;
	/* Members of unions have none; bit fields are not asked for. */
	return libdw.dwarf_attr_integrate(member, DW_AT_data_bit_offset, &attribute) ? UINT64_MAX : 0;
}

/* The member that covers *offset, which becomes the offset inside it. */
static bool member_at(Dwarf_Die *structure, uint64_t *offset, Dwarf_Die *ret_member, Dwarf_Die *ret_type)
{
	Dwarf_Die member;
	Dwarf_Word size;

	if (libdw.dwarf_child(structure, &member) != 0)
		return false;
	do {
		uint64_t at;

		if (libdw.dwarf_tag(&member) != DW_TAG_member || !plain_type(&member, ret_type) ||
		    libdw.dwarf_aggregate_size(ret_type, &size) != 0)
			continue;
		at = offset_of(&member);
		if (*offset < at || *offset - at >= size)
			continue;
		*offset -= at;
		*ret_member = member;
		return true;
	} while (libdw.dwarf_siblingof(&member, &member) == 0);
	return false;
}

/* Into members that are structures themselves, as deep as they nest in any kernel. */
#define NEST_MAX 8

static bool find_member(const void *context, uint64_t type, uint64_t offset, struct oops_value *ret_value)
{
	const struct source *source = context;
	Dwarf_Die structure, member, inner;
	Dwarf_Addr bias;
	Dwarf *dwarf = libdw.dwfl_module_getdwarf(source->module, &bias);

	if (!dwarf || !libdw.dwarf_offdie(dwarf, type, &structure))
		return false;
	ret_value->text[0] = '\0';
	for (unsigned depth = 0; depth < NEST_MAX && member_at(&structure, &offset, &member, &inner); depth++) {
		const char *name = libdw.dwarf_diename(&member);
		size_t n = strlen(ret_value->text);

		if (name)
			snprintf(ret_value->text + n, sizeof(ret_value->text) - n, "%s%.79s", n ? "." : "", name);
		if (is_structure(&inner)) {
			structure = inner;
			continue;
		}
		set_pointee(&member, ret_value);
		return ret_value->text[0];
	}
	return false;
}

void debug_variable_name(struct oops *oops, Dwfl_Module *module, uint64_t entry)
{
	struct source source = {.module = module,
				.entry = entry,
				.is_arm64 = oops->report.arch && strcmp(oops->report.arch, "arm64") == 0};
	const struct oops_types types = {
		.context = &source, .variable = find_variable, .parameter = find_parameter, .member = find_member};

	oops_origin_find(oops, &types);
}
