/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/shed.h"

#include "base/clock.h"

/* Far below the limit, so that what is taken up again fits. */
#define CALM_SHARE 0.5
/* Half a minute; each time that taking a step back was too early, twice as long. */
#define CALM_PERIODS     6
#define CALM_PERIODS_MAX 120

/* Shares of one CPU that samples at rest and dense ones may take without being made rarer; dense samples per second. */
#define REST_SHARE  0.015
#define DENSE_SHARE 0.05
#define DENSE_RATE  5

uint64_t shed_rest_pace(uint64_t sample_cpu_ns)
{
	uint64_t pace_ns = (uint64_t)((double)sample_cpu_ns / REST_SHARE);

	return min_of(max_of(pace_ns, SHED_PACE_MIN_NS), SHED_PACE_MAX_NS);
}

double shed_dense_price(uint64_t sample_cpu_ns)
{
	double share = (double)sample_cpu_ns * DENSE_RATE / (double)NSEC_PER_SEC;

	return share > DENSE_SHARE ? share / DENSE_SHARE : 1;
}

const char *shed_what(enum shed_step step)
{
	static const char *const whats[SHED_STEPS] = {
		[SHED_NOTHING] = "nothing",
		[SHED_DENSE] = "dense sampling",
		[SHED_FOLLOWED] = "most connections that wait or move",
		[SHED_DIAGNOSIS] = "the diagnosis",
		[SHED_SAMPLES] = "9 of 10 samples",
	};

	return whats[step];
}

static bool step_up(struct shed *shed)
{
	shed->needed = max_of(shed->needed, (unsigned)CALM_PERIODS);
	shed->calm = 0;
	if (shed->step + 1 == SHED_STEPS)
		return false;
	shed->step++;
	return true;
}

static bool step_back(struct shed *shed)
{
	if (++shed->calm < shed->needed)
		return false;
	shed->calm = 0;
	/* Calm for so long without shedding anything: the next time is another one. */
	if (shed->step == SHED_NOTHING) {
		shed->needed = CALM_PERIODS;
		return false;
	}
	shed->needed = min_of(shed->needed * 2, (unsigned)CALM_PERIODS_MAX);
	shed->step--;
	return true;
}

bool shed_note(struct shed *shed, uint64_t now_ns, uint64_t cpu_ns)
{
	uint64_t span_ns = now_ns - shed->last_ns, spent_ns = cpu_ns - shed->last_cpu_ns;
	bool first = shed->last_ns == 0;

	shed->last_ns = now_ns;
	shed->last_cpu_ns = cpu_ns;
	/* The first period loads programs. */
	if (first || span_ns == 0)
		return false;
	shed->used = (double)spent_ns / (double)span_ns;
	if (shed->limit <= 0)
		return false;
	if (shed->used > shed->limit)
		return step_up(shed);
	if (shed->used < CALM_SHARE * shed->limit)
		return step_back(shed);
	shed->calm = 0;
	return false;
}
