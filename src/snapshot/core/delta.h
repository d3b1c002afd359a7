/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How far a counter moved between two samples. A counter that went backwards was reset (a new device of the same name,
 * a cleared rule) unless it is plain that it wrapped: from the top sixteenth of its range into the bottom one. What a
 * reset hides cannot be known, so the answer is unknown, never a guess.
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

/* The same for a counter that the kernel keeps in 32 bits. */
static inline uint64_t delta_between32(uint64_t before, uint64_t after)
{
	if (before >= UINT32_MAX || after >= UINT32_MAX)
		return UINT64_MAX; /* unknown is all bits set, in 32 bits too */
	if (after >= before)
		return after - before;
	if (before >> 28 == 15 && after >> 28 == 0)
		return after + (UINT64_C(1) << 32) - before;
	return UINT64_MAX;
}

/* A second, or unknown. */
static inline double delta_rate(uint64_t delta, uint64_t span_ns)
{
	return delta == UINT64_MAX || span_ns == 0 ? __builtin_nan("") : (double)delta * 1e9 / (double)span_ns;
}
