/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps the cost of tracing below a share of one CPU: measures it periodically and follows fewer flows when it is
 * exceeded. The kernel's BPF statistics count the run time of the programs; because they cost time themselves, they are
 * on one fifth of the time.
 */
#pragma once

#include "base/loop.h"
#include "event/core/live.h"

struct cost_limit {
	struct live *live;
	struct loop *loop;
	double max;
	uint32_t *sample;  /* shared with the BPF programs */
	uint32_t least;    /* as requested by the user */
	double cpu;        /* last measurement; NAN: none yet */
	uint32_t measured; /* sampling rate at that measurement: one flow in N */
	int stats_fd;      /* open while the kernel counts; -1: closed */
	uint64_t run_ns, begin_ns, own_ns;
};

void cost_limit_init(struct cost_limit *limit);
/* max 0: no limit, no measurement. */
int cost_limit_start(struct cost_limit *limit, struct loop *loop) _must_check_;
/* Stops measuring; keeps the last result. */
void cost_limit_done(struct cost_limit *limit);
/* The cost exceeds the limit although hardly any flow is followed: it is the hooks themselves. */
bool cost_limit_is_beyond(const struct cost_limit *limit);
/* Sampling rate (one flow in N) after a measurement. before: the previous measurement; NAN: none. */
uint32_t cost_limit_next(uint32_t sample, uint32_t least, double cpu, double before, double max);
