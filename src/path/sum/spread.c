/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "path/sum/spread.h"
#include "base/alloc.h"

#define SUBSLOTS (1u << SPREAD_BITS)

unsigned spread_slot(uint64_t value)
{
	unsigned exponent;

	if (value < SUBSLOTS)
		return (unsigned)value;
	exponent = 63 - (unsigned)__builtin_clzll(value);
	return ((exponent - SPREAD_BITS + 1) << SPREAD_BITS) +
	       (unsigned)(value >> (exponent - SPREAD_BITS) & (SUBSLOTS - 1));
}

uint64_t spread_slot_first(unsigned slot)
{
	unsigned octave = slot >> SPREAD_BITS;

	if (octave == 0)
		return slot;
	return (uint64_t)(SUBSLOTS | (slot & (SUBSLOTS - 1))) << (octave - 1);
}

uint64_t spread_slot_last(unsigned slot)
{
	return slot + 1 < SPREAD_SLOTS ? spread_slot_first(slot + 1) - 1 : UINT64_MAX;
}

void spread_add(struct spread *spread, uint64_t value)
{
	if (!spread->slots)
		spread->slots = xzalloc(SPREAD_SLOTS * sizeof(*spread->slots));
	spread->min = spread->count ? min_of(spread->min, value) : value;
	spread->max = spread->count ? max_of(spread->max, value) : value;
	spread->count++;
	spread->sum += value;
	spread->slots[spread_slot(value)]++;
}

void spread_done(struct spread *spread)
{
	free(spread->slots);
	*spread = (struct spread){};
}

uint64_t spread_quantile(const struct spread *spread, double share)
{
	double wanted = share * (double)spread->count;
	uint64_t passed = 0;

	if (spread->count == 0)
		return 0;
	for (unsigned i = 0; i < SPREAD_SLOTS; i++) {
		uint64_t first = spread_slot_first(i), last = spread_slot_last(i);

		passed += spread->slots[i];
		if (spread->slots[i] == 0 || (double)passed < wanted)
			continue;
		/* Middle of the slot, within min and max. */
		return min_of(max_of(first + (last - first) / 2, spread->min), spread->max);
	}
	return spread->max;
}

unsigned spread_octaves(const struct spread *spread, struct hist_slot *slots)
{
	unsigned end = 0;

	for (unsigned i = 0; i < SPREAD_OCTAVES; i++)
		slots[i] = hist_log2_slot(i);
	for (unsigned i = 0; spread->slots && i < SPREAD_SLOTS; i++) {
		unsigned octave = hist_log2_index(spread_slot_first(i));

		slots[octave].count += spread->slots[i];
		if (spread->slots[i])
			end = max_of(end, octave + 1);
	}
	return end;
}
