/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How durations are spread, in bounded memory: sixteen slots an octave, so that a quantile is right to about three in a
 * hundred; count, sum, smallest and largest are exact. Two spreads of the same values are the same whatever the order
 * was.
 */
#pragma once

#include "view/hist.h"

#define SPREAD_BITS  4
#define SPREAD_SLOTS ((64 - SPREAD_BITS + 1) << SPREAD_BITS)

struct spread {
	uint64_t count;
	uint64_t sum;
	uint64_t min, max; /* of no meaning while count is 0 */
	uint64_t *slots;   /* NULL before the first value */
};

/* The slot of a value, and the first and last value of a slot. */
unsigned spread_slot(uint64_t value);
uint64_t spread_slot_first(unsigned slot);
uint64_t spread_slot_last(unsigned slot);

void spread_add(struct spread *spread, uint64_t value);
void spread_done(struct spread *spread);
/* The value that the share (0 to 1) of the values does not pass; 0 when there are none. */
uint64_t spread_quantile(const struct spread *spread, double share);
/* By powers of two, slots[i] as hist_log2_slot has it; 65 of them. Returns one behind the last that holds something. */
#define SPREAD_OCTAVES 65
unsigned spread_octaves(const struct spread *spread, struct hist_slot *slots);
