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
 * The rows of a table in this sample. Rows that stay take their durations from the moments that were written, so that a
 * replay gives what the live run saw.
 */
int states_add(struct states *states, struct snapshot *snapshot, const struct snapshot_table *now,
	       uint64_t sample) _must_check_;
