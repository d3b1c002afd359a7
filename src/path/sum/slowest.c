/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "path/sum/slowest.h"

void slowest_add(struct slowest *slowest, const struct journey *journey)
{
	size_t at = slowest->journeys.count, limit = min_of(slowest->limit, (size_t)SLOWEST_MAX);

	while (at > 0 && slowest->journeys.items[at - 1].total_ns < journey->total_ns)
		at--;
	if (at >= limit)
		return;
	if (slowest->journeys.count < limit)
		(void)vec_add(&slowest->journeys);
	memmove(&slowest->journeys.items[at + 1], &slowest->journeys.items[at],
		(slowest->journeys.count - 1 - at) * sizeof(*slowest->journeys.items));
	slowest->journeys.items[at] = *journey;
}
