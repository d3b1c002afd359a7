/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --max-cpu: what the agent leaves undone while it uses more CPU time than it may, in steps, and when it takes it up
 * again. Pure: the caller measures and acts.
 */
#pragma once

#include "base/macros.h"

/* Each step includes those before. */
enum shed_step {
	SHED_NOTHING,
	SHED_DENSE,     /* no dense sampling */
	SHED_FOLLOWED,  /* fewer connections are followed */
	SHED_DIAGNOSIS, /* no diagnosis */
	SHED_SAMPLES,   /* a sample every ten seconds */
	SHED_STEPS,
};

struct shed {
	double limit; /* share of one CPU; 0: none */
	enum shed_step step;
	double used; /* share of one CPU in the last period */
	uint64_t last_ns, last_cpu_ns;
	unsigned calm;   /* periods in a row far below the limit */
	unsigned needed; /* of them, before a step is taken back */
};

/* How often to ask. */
#define SHED_PERIOD_NS (UINT64_C(5) * 1000000000)

/* After each period, with the time and the CPU time so far; whether the step changed. */
bool shed_note(struct shed *shed, uint64_t now_ns, uint64_t cpu_ns);
/* What is shed by this step alone, as a noun. */
const char *shed_what(enum shed_step step);
