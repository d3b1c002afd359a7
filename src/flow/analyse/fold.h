/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Summaries: repeated calls become `N x ( ... )`, nested, and recursion becomes one call with a depth. Lossless:
 * forest_walk expands a summary to the original row. A group is a FOREST_BLOCK.
 */
#pragma once

#include "flow/analyse/forest.h"

enum fold_algorithm {
	FOLD_LINEAR, /* periods from the distance to the next equal call: linear time */
	FOLD_WINDOW, /* a sliding window of fixed size */
	FOLD_SEARCH, /* windows of all sizes, smallest first, until nothing changes */
};

/* For OPTION of kind CHOICE. */
extern const char *const fold_algorithm_names[];

struct fold_options {
	enum fold_algorithm algorithm;
	uint32_t window;       /* FOLD_WINDOW: calls (0: 2); FOLD_SEARCH: the largest (0: 32) */
	const uint32_t *alike; /* by node, for fold_tree: nodes with the same number are replaced by the first: lossy */
};

/* Folds the row; groups become nodes of the same forest. */
void fold_row(struct forest *forest, const struct fold_options *options, struct forest_row *row);
/*
 * Folds the node and all below it; returns its number in `into`. memo: 0 for each node of `from`, or its earlier
 * result.
 */
uint32_t fold_tree(const struct forest *from, uint32_t node, const struct fold_options *options, struct forest *into,
		   uint32_t *memo);

/* A function that calls only itself, with the same calls around it on each level. */
struct fold_recursion {
	uint32_t levels; /* 1: no recursion */
	uint32_t base;   /* the innermost level */
};

struct fold_recursion fold_recursion(const struct forest *forest, uint32_t node);
