/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "snapshot/core/table_share.h"

#define BLOCK 256

void table_share_begin(struct table_share *share, struct snapshot_table *whole, size_t expected)
{
	/* Margin: the table may have grown since it was counted. */
	size_t room = whole->count + expected + expected / 8 + 4 * BLOCK;

	snapshot_table_reserve(whole, room);
	*share = (struct table_share){.next = whole->count, .room = whole->room};
}

struct snapshot_table table_share_view(struct table_share *share, const struct snapshot_table *whole)
{
	struct snapshot_table view = *whole;

	view.share = share;
	view.count = 0;
	view.room = 0;
	view.refused = 0;
	return view;
}

bool table_share_more(struct snapshot_table *view)
{
	size_t start = __atomic_fetch_add(&view->share->next, BLOCK, __ATOMIC_RELAXED);

	if (start + BLOCK > view->share->room)
		return false;
	view->count = start;
	view->room = start + BLOCK;
	return true;
}

int table_share_end(struct snapshot_table *whole, const struct snapshot_table *a, const struct snapshot_table *b,
		    struct table_move *ret_move)
{
	const struct snapshot_table *low = a->room < b->room ? a : b, *high = a->room < b->room ? b : a;
	size_t size = whole->type->size, hole = low->room - low->count;
	struct table_move move = {};

	if (a->refused || b->refused)
		return -ENOSPC;
	if (high->room > 0)
		whole->count = high->count;
	/* Moves the last records into the gap that the other thread left. */
	if (hole > 0) {
		move.count = min_of(hole, whole->count - low->room);
		move.from = whole->count - move.count;
		move.to = low->count;
		memcpy(whole->items + move.to * size, whole->items + move.from * size, move.count * size);
		whole->count = move.count == hole ? move.from : move.to + move.count;
	}
	*ret_move = move;
	return 0;
}
