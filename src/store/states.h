/* SPDX-License-Identifier: GPL-2.0-or-later */
/* State tables of a snapshot: a row is written once and is valid from one sample to another. */
#pragma once

#include "store/store_inside.h"

/* A row is valid from the sample `first` to the sample `last`; this is the last of a row that is still valid. */
#define STATE_OPEN INT64_C(0x7fffffffffff)

/* first, last and pos stand before the columns of the fields. */
#define STATE_COLUMNS 3

struct states *states_new(struct store_table *table);
void states_free(struct states *states);
/*
 * Compares the rows of a table in this sample with those of the one before; writes nothing. Rows that stay take their
 * durations from the moments that were written, so that a replay gives what the live run saw. Whether the table is at
 * rest: nothing but drifting fields (store/lull.h) changed within the time since the sample before.
 */
bool states_plan(struct states *states, struct snapshot *snapshot, const struct snapshot_table *now, uint64_t sample,
		 uint64_t since_ns);
/*
 * Writes what was planned. replaced_after: this sample takes the place of those after that one, so their rows take the
 * new values; UINT64_MAX: of none.
 */
int states_write(struct states *states, const struct snapshot_table *now, uint64_t replaced_after) _must_check_;
