/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which variable a register held, and which member of which structure the faulting instruction used: the instructions
 * before the fault are followed back until a register whose variable is known, from DWARF (oops_debug.h) or from BTF
 * (oops_btf.h).
 */
#pragma once

#include "oops/oops.h"

/* A value with the structure it points to. */
struct oops_value {
	char text[160];     /* "skb", "skb->dev" */
	char type_name[80]; /* "sk_buff"; empty: it points to no structure */
	uint64_t type;      /* of the source of types; meaningless without a name */
};

/* A source of types. Each function may say false: unknown. */
struct oops_types {
	const void *context;
	/* The variable that a register holds at this offset of the report's function; NULL: the source has none. */
	bool (*variable)(const void *context, const char *reg, uint32_t offset, struct oops_value *ret_value);
	/* The parameter of that number, from 0, at the function's entry. */
	bool (*parameter)(const void *context, unsigned number, struct oops_value *ret_value);
	/* The member at an offset of a structure; ret_value->text is its name, also "a.b". */
	bool (*member)(const void *context, uint64_t type, uint64_t offset, struct oops_value *ret_value);
};

/* Fills the report's member, and what its registers hold. */
void oops_origin_find(struct oops *oops, const struct oops_types *types);
