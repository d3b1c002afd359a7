/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hash-consed call trees. A node is a function and the row of its calls, in order; equal trees share a number, so
 * sessions are compared by number, and memory grows with distinct trees, not with the trace. Equal neighbours are one
 * item with a count; a very long row is split by content into blocks, which are nodes themselves (function
 * FOREST_BLOCK), so a loop that runs for days also stays small.
 */
#pragma once

#include "base/vec.h"

/* A node that is a row of calls instead of a call: part of a long row, or a session. */
#define FOREST_BLOCK UINT32_MAX

struct forest_item {
	uint32_t node;
	uint32_t times;
};

_Static_assert(sizeof(struct forest_item) == sizeof(uint64_t), "compared as one word");

struct forest_node {
	uint32_t fn;
	uint32_t first; /* item */
	uint32_t count; /* of items */
	uint32_t hash;
	uint64_t calls; /* in the tree, including itself unless it is a block */
};

struct forest {
	VEC(struct forest_node) nodes; /* [0] is unused */
	VEC(struct forest_item) items;
	uint32_t *slots;
	size_t slot_count; /* a power of two */
	uint32_t *leaves;  /* by function: the node without calls; 0: none yet */
	uint32_t *recent;  /* cache: most calls repeat a recent one */
	size_t leaf_count;
};

/* A stack of rows under construction: the calls of each open call so far. */
struct forest_row {
	VEC(struct forest_item) items;
};

void forest_init(struct forest *forest, size_t function_count);
void forest_done(struct forest *forest);

/* Finds or creates the node of this function and row. */
uint32_t forest_cons(struct forest *forest, uint32_t fn, const struct forest_item *items, size_t count);
/* Splits a long row from `begin` to the end into blocks. */
void forest_row_shorten(struct forest *forest, struct forest_row *row, size_t begin);

#define FOREST_ROW_LONG 4096

/* Appends to the row that starts at `begin`. */
static inline void forest_row_add(struct forest *forest, struct forest_row *row, size_t begin, uint32_t node)
{
	size_t count = row->items.count;

	if (count > begin && row->items.items[count - 1].node == node &&
	    row->items.items[count - 1].times < UINT32_MAX) {
		row->items.items[count - 1].times++;
		return;
	}
	vec_push(&row->items, (struct forest_item){node, 1});
	if (unlikely(count - begin >= FOREST_ROW_LONG))
		forest_row_shorten(forest, row, begin);
}

/* A call without callees. */
static inline uint32_t forest_leaf(struct forest *forest, uint32_t fn)
{
	uint32_t node = likely(fn < forest->leaf_count) ? forest->leaves[fn] : 0;

	return likely(node) ? node : forest_cons(forest, fn, NULL, 0);
}

static inline const struct forest_item *forest_items(const struct forest *forest, uint32_t node, size_t *ret_count)
{
	const struct forest_node *n = &forest->nodes.items[node];

	*ret_count = n->count;
	return vec_from(&forest->items, n->first);
}

/* Iterates the calls of a node with blocks expanded; false at the end. */
struct forest_walk {
	const struct forest *forest;
	struct forest_step {
		uint32_t node;
		uint32_t item;  /* the next one */
		uint32_t times; /* remaining repeats of the current item */
	} steps[64];
	unsigned depth;
};

void forest_walk_begin(struct forest_walk *walk, const struct forest *forest, uint32_t node);
/* The next item: a node other than a block, and its repeat count. */
bool forest_walk_next(struct forest_walk *walk, struct forest_item *ret_item);

/* Whether each node up to this one is part of it. The caller frees it. */
bool *forest_reached(const struct forest *forest, uint32_t node);
