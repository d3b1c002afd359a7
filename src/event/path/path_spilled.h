/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Journeys that wait in sockets in which more waits than the kernel keeps: the kernel hands them over, tells later what
 * was read and by whom, and they are finished here with the same lines (path_steps.h).
 */
#pragma once

#include "base/map.h"
#include "event/path/path_steps.h"

struct path_spilled {
	struct map sockets; /* by cookie */
	size_t count;
	struct path_counts counts; /* of those that were finished here */
};

typedef void (*path_spilled_fn)(void *context, const struct event_head *head, const struct path_journey *journey);

void path_spilled_init(struct path_spilled *spilled);
void path_spilled_done(struct path_spilled *spilled);
/* One more; lost when far too many wait already. */
void path_spilled_add(struct path_spilled *spilled, const struct event_head *head, const struct path_journey *journey);
/* Data of a socket was read, or the socket has ended: hands out the journeys that end with it. */
void path_spilled_read(struct path_spilled *spilled, const struct path_read_event *read, path_spilled_fn fn,
		       void *context);
/* Hands out what is left, as unfinished. */
void path_spilled_end(struct path_spilled *spilled, path_spilled_fn fn, void *context);
