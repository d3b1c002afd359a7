/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A table filled by two threads. Each takes whole blocks, so they synchronize once per block; at the end the gaps in
 * the last blocks are closed. Room must be reserved before: the table cannot move while threads write into it.
 */
#pragma once

#include "snapshot/core/snapshot.h"

struct table_share {
	size_t next; /* start of the next block; atomic */
	size_t room;
};

/* Records moved to close a gap: from..from+count are now at `to`. */
struct table_move {
	size_t from;
	size_t count;
	size_t to;
};

/* Prepares the table for about EXPECTED more records. */
void table_share_begin(struct table_share *share, struct snapshot_table *whole, size_t expected);
/* A view for one thread; its indices are those of the whole table. */
struct snapshot_table table_share_view(struct table_share *share, const struct snapshot_table *whole);
/* Takes the next block; false: table full. */
bool table_share_more(struct snapshot_table *view);
/* -ENOSPC: out of room; the table is unchanged. */
int table_share_end(struct snapshot_table *whole, const struct snapshot_table *a, const struct snapshot_table *b,
		    struct table_move *ret_move) _must_check_;
