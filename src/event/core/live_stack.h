/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks that came with their events. The kernel's own memory for stacks drops what falls into a place that is taken;
 * an event whose stacks are all of what it tells brings them along (event.h, frames_at). Each different one gets a
 * number, in the same space as the kernel's numbers.
 */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "event/core/head.h"

struct live_stacks {
	struct map numbers; /* struct event_frames -> uint32_t */
	VEC(struct event_frames) items;
	uint64_t lost;
};

void live_stacks_init(struct live_stacks *stacks);
void live_stacks_done(struct live_stacks *stacks);
/* The number of this stack; -1 when it is empty or cannot be, -ENOSPC when there are too many. */
int32_t live_stacks_put(struct live_stacks *stacks, const struct event_frames *frames);
/* NULL: that number is the kernel's. */
const struct event_frames *live_stacks_get(const struct live_stacks *stacks, int32_t id);
