/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacked heat maps: count of values by magnitude and time. Columns are time, rows powers of two, layers are the
 * caller's. The duration need not be known: when the columns run out, pairs are merged. The result does not depend on
 * the order of values.
 */
#pragma once

#include "base/macros.h"

#define HEAT_COLUMNS 120
#define HEAT_ROWS    40 /* up to nine minutes; the last row holds anything longer */

struct heat {
	unsigned layers;
	unsigned shift; /* column width is 1 << shift ns */
	uint64_t first; /* number of the first column: its time >> shift */
	uint64_t last;  /* number of the last column in use */
	uint64_t count;
	uint32_t (*cells)[HEAT_ROWS]; /* [layer * HEAT_COLUMNS + column][row]; NULL before the first value */
};

#define HEAT_INIT(layer_count)                                                                                         \
	(struct heat)                                                                                                  \
	{                                                                                                              \
		.layers = (layer_count), .shift = 20                                                                   \
	}

void heat_done(struct heat *heat);
void heat_add(struct heat *heat, unsigned layer, uint64_t time_ns, uint64_t value);

unsigned heat_row(uint64_t value);
/* The smallest value of a row. */
uint64_t heat_row_first(unsigned row);
/* Columns in use. */
unsigned heat_columns(const struct heat *heat);
uint32_t heat_get(const struct heat *heat, unsigned layer, unsigned column, unsigned row);
/* The largest count in any cell of the layer. */
uint32_t heat_most(const struct heat *heat, unsigned layer);
