/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Summaries: repeated calls become `N x ( ... )`, nested, and a function that calls itself becomes one call and a
 * depth. Exact: what a summary stands for is the row that it was made of (forest_walk takes it apart again). A group is
 * a FOREST_BLOCK.
 */
#pragma once

#include "flow/analyse/forest.h"

enum fold_algorithm {
	FOLD_LINEAR, /* periods from the distance to the next equal call: time proportional to the row */
	FOLD_WINDOW, /* one window slides along the row and looks for what repeats */
	FOLD_SEARCH, /* windows of every size, the smallest first, until nothing changes */
};

/* For OPTION of kind CHOICE. */
extern const char *const fold_algorithm_names[];

struct fold_options {
	enum fold_algorithm algorithm;
	uint32_t window; /* of FOLD_WINDOW: calls (0: 2); of FOLD_SEARCH: the largest (0: 32) */
	const uint32_t
		*alike; /* by node, for fold_tree: the first of those with the same number stands for all: not exact */
};

/* The row that the node is made of, shortened; groups become nodes of the same forest. */
void fold_row(struct forest *forest, const struct fold_options *options, struct forest_row *row);
/* The node and all below it; its number in `into`. memo: 0 for every node of `from`, or what was made of it before. */
uint32_t fold_tree(const struct forest *from, uint32_t node, const struct fold_options *options, struct forest *into,
		   uint32_t *memo);

/* A function that does nothing but call itself, with the same calls around it each time. */
struct fold_recursion {
	uint32_t levels; /* 1: no recursion */
	uint32_t base;   /* the innermost level */
};

struct fold_recursion fold_recursion(const struct forest *forest, uint32_t node);
