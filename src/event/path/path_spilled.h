/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Journeys that wait in sockets in which more waits than the kernel keeps: the kernel hands them over, tells later what was
 * read and by whom, and they are finished here with the same lines (event/path_steps.h).
 */
#pragma once

#include "base/map.h"
#include "event/path/path_steps.h"

struct waiting {
	struct map sockets; /* by cookie */
	size_t count;
	struct path_counts counts; /* of those that were finished here */
};

typedef void (*waiting_fn)(void *context, const struct event_head *head, const struct path_journey *journey);

void waiting_init(struct waiting *waiting);
void waiting_done(struct waiting *waiting);
/* One more; lost when far too many wait already. */
void waiting_add(struct waiting *waiting, const struct event_head *head, const struct path_journey *journey);
/* Data of a socket was read, or the socket has ended: hands out the journeys that end with it. */
void waiting_read(struct waiting *waiting, const struct path_read_event *read, waiting_fn fn, void *context);
/* Hands out what is left, as unfinished. */
void waiting_end(struct waiting *waiting, waiting_fn fn, void *context);
