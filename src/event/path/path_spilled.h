/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Journeys in sockets that hold more packets than the kernel tracks: the kernel hands them over, reports later what was
 * read and by whom, and user space finishes them with the same code (path_steps.h).
 */
#pragma once

#include "base/map.h"
#include "event/path/path_steps.h"

struct path_spilled {
	struct map sockets; /* by cookie */
	size_t count;
	struct path_counts counts; /* of the journeys finished here */
};

typedef void (*path_spilled_fn)(void *context, const struct event_head *head, const struct path_journey *journey);

void path_spilled_init(struct path_spilled *spilled);
void path_spilled_done(struct path_spilled *spilled);
/* Adds a journey; counts it as lost when too many are waiting. */
void path_spilled_add(struct path_spilled *spilled, const struct event_head *head, const struct path_journey *journey);
/* Data was read or the socket was closed: delivers the journeys that end with it. */
void path_spilled_read(struct path_spilled *spilled, const struct path_read_event *read, path_spilled_fn fn,
		       void *context);
/* Delivers the rest as unfinished. */
void path_spilled_end(struct path_spilled *spilled, path_spilled_fn fn, void *context);
