/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/disk_budget.h"

#include "base/clock.h"

/* Shorter than the rest between two spells of dense sampling, where something is suspected all the time. */
#define PERIOD_NS (30 * NSEC_PER_SEC)
/* Twice as many connections are at most twice the rows: they still fit. */
#define CALM_SHARE 0.45

void disk_budget_init(struct disk_budget *budget, uint64_t size, uint64_t age_ns)
{
	*budget = (struct disk_budget){
		.limit = size && age_ns ? (double)size * (double)NSEC_PER_SEC / (double)age_ns : 0,
		.moving = FOLLOWED,
	};
}

static void adapt(struct disk_budget *budget)
{
	if (budget->rate > budget->limit)
		budget->moving = max_of(budget->moving / 2, (size_t)FOLLOWED_FEW);
	else if (budget->rate < CALM_SHARE * budget->limit)
		budget->moving = min_of(budget->moving * 2, (size_t)FOLLOWED);
}

void disk_budget_note(struct disk_budget *budget, uint64_t now_ns, uint64_t bytes, bool resting)
{
	bool begins = budget->last_ns == 0 || !resting;

	if (budget->limit <= 0 || (!begins && now_ns - budget->last_ns < PERIOD_NS))
		return;
	/* It shrinks where old rows are deleted. */
	if (!begins && bytes > budget->last_bytes) {
		budget->rate = (double)(bytes - budget->last_bytes) * (double)NSEC_PER_SEC /
			       (double)(now_ns - budget->last_ns);
		adapt(budget);
	}
	budget->last_ns = now_ns;
	budget->last_bytes = bytes;
}
