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
/*
 * What a sample of the whole host costs decides how often it is taken, long before the limit: on a host with many
 * namespaces, samples at rest are further apart, and dense sampling ends sooner.
 */
#define SHED_PACE_MIN_NS (UINT64_C(1) * 1000000000)
#define SHED_PACE_MAX_NS (UINT64_C(5) * 1000000000)
/* Between samples at rest. */
uint64_t shed_rest_pace(uint64_t sample_cpu_ns);
/* As rest.price. */
double shed_dense_price(uint64_t sample_cpu_ns);
/* What is shed by this step alone, as a noun. */
const char *shed_what(enum shed_step step);
