/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "event/core/live_stack.h"

/* Above the ids of the kernel's stack map. */
#define FIRST      (1 << 30)
#define STACKS_MAX 32768

void live_stacks_init(struct live_stacks *stacks)
{
	stacks->numbers = MAP_INIT(sizeof(struct event_frames), sizeof(uint32_t), STACKS_MAX);
}

void live_stacks_done(struct live_stacks *stacks)
{
	map_done(&stacks->numbers);
	vec_done(&stacks->items);
}

int32_t live_stacks_put(struct live_stacks *stacks, const struct event_frames *frames)
{
	uint32_t *number;
	bool is_new;

	if (frames->count == 0 || frames->count > EVENT_FRAMES_MAX)
		return -1;
	number = map_put(&stacks->numbers, frames, &is_new);
	if (!number) {
		stacks->lost++;
		return -ENOSPC;
	}
	if (is_new) {
		*number = (uint32_t)stacks->items.count;
		vec_push(&stacks->items, *frames);
	}
	return FIRST + (int32_t)*number;
}

const struct event_frames *live_stacks_get(const struct live_stacks *stacks, int32_t id)
{
	return id >= FIRST && (size_t)(id - FIRST) < stacks->items.count ? &stacks->items.items[id - FIRST] : NULL;
}
