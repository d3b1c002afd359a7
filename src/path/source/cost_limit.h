/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps what following costs below a share of one processor: measures it now and then and follows fewer flows when it
 * is more. What programs cost in the kernel is counted by the kernel itself, which costs something too: a fifth of the
 * time.
 */
#pragma once

#include "base/loop.h"
#include "event/core/live.h"

struct cost_limit {
	struct live *live;
	struct loop *loop;
	double max;
	uint32_t *sample;  /* shared with the programs */
	uint32_t least;    /* as the user asked */
	double cpu;        /* the last measurement; NAN: none yet */
	uint32_t measured; /* when one flow in so many was followed */
	int stats_fd;      /* while the kernel counts; -1 */
	uint64_t run_ns, begin_ns, own_ns;
};

void cost_limit_init(struct cost_limit *limit);
/* Of max 0: there is no limit, and nothing is measured. */
int cost_limit_start(struct cost_limit *limit, struct loop *loop) _must_check_;
/* Ends measuring; what was measured last stays. */
void cost_limit_done(struct cost_limit *limit);
/* It costs more than it may though hardly any flow is followed: passing the hooks does. */
bool cost_limit_is_beyond(const struct cost_limit *limit);
/* What is followed after a measurement: one flow in so many. before: the measurement before it; NAN: none. */
uint32_t cost_limit_next(uint32_t sample, uint32_t least, double cpu, double before, double max);
