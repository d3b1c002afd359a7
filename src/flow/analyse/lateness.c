/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/analyse/lateness.h"

#include "base/alloc.h"

/* The recorder wakes up that often: what made it late may have begun so much earlier. */
#define PERIOD_NS 2000000.0
/* Times that are looked up. */
#define LEAST_NS 100000.0

struct lateness lateness_of(const struct flow_trace *trace)
{
	double ticks_per_ns = (double)trace->ticks_per_second / 1e9;
	uint64_t period = (uint64_t)(PERIOD_NS * ticks_per_ns), end = 0;
	struct lateness all = {.least_ticks = UINT64_MAX};

	if (!trace->late_count)
		return all;
	all.least_ticks = (uint64_t)(LEAST_NS * ticks_per_ns);
	all.spans = xmalloc(trace->late_count * sizeof(*all.spans));
	for (size_t i = 0; i < trace->late_count; i++) {
		const struct flow_late *late = &trace->late[i];
		uint64_t before = min_of(late->awake_ticks - late->due_ticks, period);
		uint64_t start = max_of(late->due_ticks - min_of(before, late->due_ticks), end);

		end = late->awake_ticks;
		all.spans[all.count++] = (struct late_span){start, end};
	}
	return all;
}

void lateness_done(struct lateness *lateness)
{
	free(lateness->spans);
	*lateness = (struct lateness){};
}

uint64_t lateness_longest(const struct lateness *lateness, uint64_t start_ticks, uint64_t end_ticks)
{
	size_t low = 0, high = lateness->count;
	uint64_t longest = 0;

	/* The first one that ends later. */
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (lateness->spans[middle].end_ticks <= start_ticks)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < lateness->count && lateness->spans[low].start_ticks < end_ticks; low++) {
		const struct late_span *span = &lateness->spans[low];
		uint64_t from = max_of(span->start_ticks, start_ticks), to = min_of(span->end_ticks, end_ticks);

		longest = max_of(longest, to - from);
	}
	return longest;
}
