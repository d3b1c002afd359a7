/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Internals of the expression language, shared by parser and evaluator. */
#pragma once

#include "base/vec.h"
#include "record/expr.h"

struct expr_node {
	enum expr_op op;
	/* AND, OR: two nodes; NOT: one. Indices into expr.nodes. */
	uint32_t left_node, right_node;
	/* Comparisons. */
	struct field_ref field;
	struct field_ref other; /* field of the right side, or NULL */
	uint32_t first_literal, literal_count;
};

struct expr {
	VEC(struct expr_node) nodes;
	VEC(struct expr_literal) literals;
	VEC(char *) texts; /* targets of the literals' pointers */
	uint32_t root;
};

/* How the values of a kind compare. */
enum expr_class { CLASS_INTEGER, CLASS_REAL, CLASS_TEXT, CLASS_ADDR, CLASS_ENDPOINT, CLASS_NONE };

enum expr_class expr_class_of(const struct field *field);
