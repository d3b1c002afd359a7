/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call trees, each different one kept once. A node is a function and the row of what it called, in order; equal trees
 * have the same number, so that whole sessions are compared by comparing numbers, and memory grows with what is
 * different, not with the trace. Neighbours that are equal are one item with a count; a row that gets very long is cut,
 * by its content, into blocks that are nodes themselves (function FOREST_BLOCK), so that a loop that runs for days
 * takes little, too.
 */
#pragma once

#include "base/vec.h"

/* Of a node that is no call but a row of calls: part of a long row, or a session's. */
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
	uint64_t calls; /* in the whole tree, itself included unless it is a block */
};

struct forest {
	VEC(struct forest_node) nodes; /* [0] is no node */
	VEC(struct forest_item) items;
	uint32_t *slots;
	size_t slot_count; /* a power of two */
	uint32_t *leaves;  /* by function: the node without calls, 0: not met */
	uint32_t *recent;  /* nodes that were asked for not long ago: most calls do what one before did */
	size_t leaf_count;
};

/* A row of calls that is being put together, on top of others: what open calls have called so far. */
struct forest_row {
	VEC(struct forest_item) items;
};

void forest_init(struct forest *forest, size_t function_count);
void forest_done(struct forest *forest);

/* The node for this function and this row. */
uint32_t forest_cons(struct forest *forest, uint32_t fn, const struct forest_item *items, size_t count);
/* Cuts the row from `begin` to its end into blocks, if it has become long. */
void forest_row_shorten(struct forest *forest, struct forest_row *row, size_t begin);

#define FOREST_ROW_LONG 4096

/* Appends to the row that begins at `begin`. */
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

/* A call without calls of its own. */
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

/* The calls of a node one after the other, blocks taken apart; false when there are no more. */
struct forest_walk {
	const struct forest *forest;
	struct forest_step {
		uint32_t node;
		uint32_t item;  /* the next one */
		uint32_t times; /* of the current item that are left */
	} steps[64];
	unsigned depth;
};

void forest_walk_begin(struct forest_walk *walk, const struct forest *forest, uint32_t node);
/* The next item: a node that is no block, and how often in a row. */
bool forest_walk_next(struct forest_walk *walk, struct forest_item *ret_item);

/* For each node up to this one whether it is part of it. The caller's to free. */
bool *forest_reached(const struct forest *forest, uint32_t node);
