/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters of rows between two fillings of a table: what they were, by row. Rows that are gone are forgotten. */
#pragma once

#include "base/map.h"
#include "snapshot/core/delta.h"

#define MOVE_VALUES_MAX 8

struct move_values {
	uint64_t values[MOVE_VALUES_MAX];
	double rates[MOVE_VALUES_MAX];
	uint32_t turn;
};

struct moves {
	struct map before; /* key -> struct move_values */
	uint64_t time_ns;
	uint64_t span_ns; /* since the filling before; 0: this is the first */
	bool same;        /* the same snapshot again: rates are those of before */
	bool from_zero;   /* by the caller: a row that was not there before began with counters of 0 */
	uint32_t turn;
};

/* A filling begins; now_ns is of the boot clock. */
void moves_begin(struct moves *moves, size_t key_size, uint64_t now_ns);
/* Takes the values of a row and writes their rates per second; NaN where there is none. */
void moves_take(struct moves *moves, const void *key, const uint64_t *values, unsigned count, double *ret_rates);
/* Forgets what did not come again. */
void moves_end(struct moves *moves);
void moves_done(struct moves *moves);
