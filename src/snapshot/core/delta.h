/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Difference of a counter between two samples. A counter that went backwards was reset (a new device of the same name,
 * a cleared rule), unless it went from the top sixteenth of its range to the bottom one: then it wrapped. The
 * difference across a reset is unknown, not guessed.
 */
#pragma once

#include "base/macros.h"

static inline uint64_t delta_between(uint64_t before, uint64_t after)
{
	if (before == UINT64_MAX || after == UINT64_MAX)
		return UINT64_MAX;
	if (after >= before)
		return after - before;
	if (before >> 60 == 15 && after >> 60 == 0)
		return after - before; /* modulo 2^64 */
	return UINT64_MAX;
}

/* The same for a 32-bit counter. */
static inline uint64_t delta_between32(uint64_t before, uint64_t after)
{
	if (before >= UINT32_MAX || after >= UINT32_MAX)
		return UINT64_MAX; /* all bits set: unknown */
	if (after >= before)
		return after - before;
	if (before >> 28 == 15 && after >> 28 == 0)
		return after + (UINT64_C(1) << 32) - before;
	return UINT64_MAX;
}

/* Per second, or unknown. */
static inline double delta_rate(uint64_t delta, uint64_t span_ns)
{
	return delta == UINT64_MAX || span_ns == 0 ? __builtin_nan("") : (double)delta * 1e9 / (double)span_ns;
}
