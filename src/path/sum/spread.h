/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Distribution of durations in bounded memory: 16 slots per octave, so a quantile is accurate to about 3 %; count, sum,
 * minimum and maximum are exact. The order of the values does not matter.
 */
#pragma once

#include "view/hist.h"

#define SPREAD_BITS  4
#define SPREAD_SLOTS ((64 - SPREAD_BITS + 1) << SPREAD_BITS)

struct spread {
	uint64_t count;
	uint64_t sum;
	uint64_t min, max; /* undefined while count is 0 */
	uint64_t *slots;   /* NULL before the first value */
};

/* The slot of a value, and the first and last value of a slot. */
unsigned spread_slot(uint64_t value);
uint64_t spread_slot_first(unsigned slot);
uint64_t spread_slot_last(unsigned slot);

void spread_add(struct spread *spread, uint64_t value);
void spread_done(struct spread *spread);
/* Quantile for share (0 to 1); 0 when empty. */
uint64_t spread_quantile(const struct spread *spread, double share);
/* By powers of two, slots[i] as in hist_log2_slot, 65 slots. Returns one past the last non-empty slot. */
#define SPREAD_OCTAVES 65
unsigned spread_octaves(const struct spread *spread, struct hist_slot *slots);
