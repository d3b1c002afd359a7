/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "top/tables/move.h"

#include <math.h>

#define ROWS_MAX ((size_t)1 << 20)

void moves_begin(struct moves *moves, size_t key_size, uint64_t now_ns)
{
	if (moves->before.key_size == 0)
		moves->before = MAP_INIT(key_size, sizeof(struct move_values), ROWS_MAX);
	/* A recording was moved back: nothing to compare with. */
	moves->same = moves->time_ns == now_ns;
	moves->span_ns = moves->time_ns && now_ns > moves->time_ns ? now_ns - moves->time_ns : 0;
	moves->time_ns = now_ns;
	moves->turn++;
}

void moves_take(struct moves *moves, const void *key, const uint64_t *values, unsigned count, double *ret_rates)
{
	bool is_new = true;
	struct move_values *before = map_put(&moves->before, key, &is_new);

	for (unsigned i = 0; i < count; i++) {
		bool known = before && (!is_new || moves->from_zero) && moves->span_ns > 0;

		if (known)
			ret_rates[i] =
				delta_rate(delta_between(is_new ? 0 : before->values[i], values[i]), moves->span_ns);
		else
			ret_rates[i] = before && !is_new && moves->same ? before->rates[i] : NAN;
		if (!before)
			continue;
		before->values[i] = values[i];
		before->rates[i] = ret_rates[i];
	}
	if (before)
		before->turn = moves->turn;
}

void moves_end(struct moves *moves)
{
	const void *key;
	size_t at = 0;
	void *value;

	while (map_next(&moves->before, &at, &key, &value))
		if (((struct move_values *)value)->turn != moves->turn)
			(void)map_remove(&moves->before, key);
}

void moves_done(struct moves *moves)
{
	map_done(&moves->before);
}
