/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stage that makes the slowest journeys slow: its mean among the slowest 1 % minus its mean among the fastest half.
 * Journeys are binned by total as they arrive, so none is kept; the slowest 1 % includes all journeys of its last bin.
 */
#pragma once

#include "path/journey/journey.h"

struct tail_slot {
	uint64_t count;
	uint64_t total_ns;
	uint64_t ns[PATH_STAGES];
};

struct tail {
	uint64_t count;
	struct tail_slot **slots; /* by spread_slot of the total; NULL before the first journey */
};

void tail_add(struct tail *tail, const struct journey *journey);
void tail_done(struct tail *tail);

struct tail_verdict {
	uint64_t slow;     /* journeys in the slowest 1 % */
	uint64_t slow_ns;  /* their mean total */
	uint64_t usual_ns; /* mean total of the fastest half */
	uint8_t owner;     /* stage with the largest share; 0: no tail */
	double shares
		[PATH_STAGES]; /* of the difference between slow and usual; they sum up to 1, some may be negative */
};

/* False when there is no tail: too few journeys, or all about the same. */
bool tail_judge(const struct tail *tail, struct tail_verdict *ret_verdict);
/* "slowest 10 of 1000: 4.77ms (fastest half: ...); sched is 99% of the difference": without a period. */
void tail_add_words(struct buf *out, const struct tail *tail);
