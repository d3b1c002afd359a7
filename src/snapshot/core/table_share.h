/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One table filled by two threads at once. Each takes whole blocks of it and fills them alone, so they meet only once
 * in a block; at the end the last, unfilled blocks are closed up. The table must have been given room enough before: it
 * cannot move while others write into it.
 */
#pragma once

#include "snapshot/core/snapshot.h"

struct table_share {
	size_t next; /* where the next block begins; changed by both */
	size_t room;
};

/* Records that were moved when the table was closed up: from..from+count are now at `to`. */
struct table_move {
	size_t from;
	size_t count;
	size_t to;
};

/* Prepares the table for about so many more records. */
void table_share_begin(struct table_share *share, struct snapshot_table *whole, size_t expected);
/* A table for one of the threads; indices in it are those of the whole. */
struct snapshot_table table_share_view(struct table_share *share, const struct snapshot_table *whole);
/* The next block of a shared table; false when there is none. */
bool table_share_more(struct snapshot_table *view);
/* -ENOSPC when there was not room enough: the whole is as it was before. */
int table_share_end(struct snapshot_table *whole, const struct snapshot_table *a, const struct snapshot_table *b,
		    struct table_move *ret_move) _must_check_;
