/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scheduling delays of the recorder (struct flow_late): then the machine had no CPU for anybody who became ready. Who
 * waits at that time for another process or thread may wait for the machine.
 */
#pragma once

#include "flow/trace/trace.h"

struct lateness {
	struct late_span {
		uint64_t start_ticks, end_ticks;
	} * spans;
	size_t count;
	uint64_t least_ticks; /* shorter times are not looked up; UINT64_MAX: the recorder was never late */
};

struct lateness lateness_of(const struct flow_trace *trace);
void lateness_done(struct lateness *lateness);
/* The longest part of that time in which it was late: a stall delays who waits once. */
uint64_t lateness_longest(const struct lateness *lateness, uint64_t start_ticks, uint64_t end_ticks);
