/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How many connections that move are followed at rest, for the recording to hold --age in --size. Each of them is a row
 * per sample, which is most of what a busy host writes. Pure: the caller measures and acts.
 */
#pragma once

#include "base/macros.h"

/* Of a class of connections: at most, and at least. */
#define FOLLOWED     128
#define FOLLOWED_FEW 16

struct disk_budget {
	double limit; /* bytes per second; 0: none */
	size_t moving;
	double rate; /* of the last period at rest; 0: none yet */
	uint64_t last_ns, last_bytes;
};

void disk_budget_init(struct disk_budget *budget, uint64_t size, uint64_t age_ns);
/* From time to time, with what the recording takes. resting: all samples since the last time were at rest. */
void disk_budget_note(struct disk_budget *budget, uint64_t now_ns, uint64_t bytes, bool resting);
