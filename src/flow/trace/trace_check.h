/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a trace is well-formed: per thread, every return matches its call, and losses are marked. */
#pragma once

#include "flow/trace/trace.h"

#define FLOW_PROBLEMS_MAX 20

struct flow_problem {
	uint32_t thread;
	uint64_t ticks;
	char text[120];
};

struct flow_check {
	uint64_t events, calls, returns;
	uint64_t operations; /* on sockets and descriptors */
	uint64_t sockets;    /* described */
	uint64_t unwound;    /* calls that ended without returning */
	uint64_t open;       /* calls still open at the end of their thread: not a fault */
	uint64_t lost;       /* marked as lost */
	uint64_t gaps;       /* positions with an unknown number of missing events */
	uint64_t damaged;    /* chunks */
	uint64_t faults;     /* total, listed or not */
	uint32_t max_depth;
	size_t problem_count;
	struct flow_problem problems[FLOW_PROBLEMS_MAX];
};

void flow_trace_check(const struct flow_trace *trace, struct flow_check *ret_check);
