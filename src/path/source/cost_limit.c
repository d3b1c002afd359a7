/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <bpf/bpf.h>
#include <math.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "path/source/cost_limit.h"

#define LOOK_INTERVAL_NS UINT64_C(1000000000)
#define LOOK_NS          UINT64_C(200000000)
#define SAMPLE_MAX       65536
/* Largest reduction per step: a single measurement may be an outlier. */
#define STEP_MAX 8
/* From here on, most of the cost is that of all packets passing the hooks. */
#define SAMPLE_FEW 64

uint32_t cost_limit_next(uint32_t sample, uint32_t least, double cpu, double before, double max)
{
	uint32_t step = 2;

	sample = max_of(sample, 1u);
	/* Following fewer flows would cost the same. */
	if (cpu > max && sample >= SAMPLE_FEW && cpu > 0.9 * before)
		return sample;
	if (cpu > max) {
		while (step < STEP_MAX && cpu > max * step)
			step *= 2;
		return min_of(sample * step, (uint32_t)SAMPLE_MAX);
	}
	/* Well below the limit, to avoid oscillation. */
	if (cpu < max / 4)
		return max_of(sample / 2, max_of(least, 1u));
	return sample;
}

static void on_end(void *context, uint64_t expirations _unused_)
{
	struct cost_limit *limit = context;
	double window, before = limit->cpu;

	if (limit->stats_fd < 0)
		return;
	window = (double)(clock_monotonic_ns() - limit->begin_ns);
	limit->cpu = (double)(live_run_ns(limit->live) - limit->run_ns) / window +
		     (double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - limit->own_ns) / window;
	(void)close(limit->stats_fd);
	limit->stats_fd = -1;
	limit->measured = *limit->sample;
	__atomic_store_n(limit->sample, cost_limit_next(limit->measured, limit->least, limit->cpu, before, limit->max),
			 __ATOMIC_RELAXED);
}

static void on_begin(void *context, uint64_t expirations _unused_)
{
	struct cost_limit *limit = context;

	if (limit->stats_fd >= 0 || limit->max <= 0)
		return;
	limit->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (limit->stats_fd < 0)
		return;
	limit->begin_ns = clock_monotonic_ns();
	limit->own_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	limit->run_ns = live_run_ns(limit->live);
	if (loop_add_timer(limit->loop, LOOK_NS, 0, on_end, limit, NULL) < 0) {
		(void)close(limit->stats_fd);
		limit->stats_fd = -1;
	}
}

void cost_limit_init(struct cost_limit *limit)
{
	*limit = (struct cost_limit){.stats_fd = -1, .cpu = NAN};
}

int cost_limit_start(struct cost_limit *limit, struct loop *loop)
{
	limit->loop = loop;
	if (limit->max <= 0)
		return 0;
	return loop_add_timer(loop, LOOK_NS, LOOK_INTERVAL_NS, on_begin, limit, NULL);
}

bool cost_limit_is_beyond(const struct cost_limit *limit)
{
	return limit->max > 0 && limit->cpu > limit->max && limit->measured >= SAMPLE_FEW;
}

void cost_limit_done(struct cost_limit *limit)
{
	limit->max = 0;
	if (limit->stats_fd >= 0)
		(void)close(limit->stats_fd);
	limit->stats_fd = -1;
}
