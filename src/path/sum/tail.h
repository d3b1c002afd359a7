/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which stage makes the slowest journeys slow: the mean of each stage among the slowest hundredth, less its mean among
 * the faster half. Journeys are sorted into slots by their total as they come, so nothing has to be kept of them, and
 * the slowest hundredth may hold a few more than that: as many as share its last slot.
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
	uint64_t slow;              /* journeys that are the slowest hundredth */
	uint64_t slow_ns;           /* their mean total */
	uint64_t usual_ns;          /* mean total of the faster half */
	uint8_t owner;              /* stage with the largest share; 0: there is no tail to speak of */
	double shares[PATH_STAGES]; /* of what the slow ones take longer; they add up to one, some may be below zero */
};

/* False when slow cannot be told from usual: few journeys, or all about as long. */
bool tail_judge(const struct tail *tail, struct tail_verdict *ret_verdict);
/* "the slowest 10 of 1000 take ...: sched owns the tail ...": without a full stop. */
void tail_add_words(struct buf *out, const struct tail *tail);
