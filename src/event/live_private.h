/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside of the live source: shared by its two files only. */
#pragma once

#include "base/clock.h"
#include "event/live.h"
#include "event/live_stack.h"

/* The maps that are being filled; -1: none. */
struct live_group_maps {
	int groups;
	int fronts; /* the tables in front of it */
};

struct live {
	struct event_request *requests;
	unsigned count;
	struct kernel_object *object;
	struct hook_plan plan;
	bool with_owner;
	bool comm_is_padded;
	uint32_t ring_bytes;
	uint32_t groups_max;
	struct live_group_maps *groups;
	/* Why an attempt failed, and with which program. */
	struct why why;
	char failed[64];
	/* Memory shared with the programs. */
	uint32_t *reader_awake;
	const struct event_losses **losses;
	/* Reading. */
	struct ring_buffer *ring;
	struct event_sink sink;
	struct loop *loop;
	struct loop_source *timer; /* while events come */
	unsigned idle_looks;
	unsigned batch;
	uint64_t boot_to_real_ns;
	struct event_head head;
	struct live_stacks stacks;
	void *data; /* a copy of what follows it, for events that the program completes */
};
