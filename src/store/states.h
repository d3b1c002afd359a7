/* SPDX-License-Identifier: GPL-2.0-or-later */
/* State tables of a snapshot: a row is written once and is valid from one sample to another. */
#pragma once

#include "store/store_inside.h"

/* A row is valid from the sample `first` to the sample `last`; this is the last of a row that is still valid. */
#define STATE_OPEN INT64_C(0x7fffffffffff)

struct states *states_new(struct store_table *table);
void states_free(struct states *states);
int states_add(struct states *states, const struct snapshot_table *now, uint64_t sample) _must_check_;
