/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks carried by events. The kernel's stack map drops a stack on a hash collision; events that consist of their
 * stack carry it themselves (event.h, frames_at). Each distinct stack gets an id in the same space as the kernel's ids.
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
/* Id of this stack; -1: empty or invalid, -ENOSPC: too many. */
int32_t live_stacks_put(struct live_stacks *stacks, const struct event_frames *frames);
/* NULL: an id of the kernel. */
const struct event_frames *live_stacks_get(const struct live_stacks *stacks, int32_t id);
