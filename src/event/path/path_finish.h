/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Between the kernel and whoever shows or adds up events: journeys that wait in a socket in which more waits than the kernel
 * keeps come half finished, and are finished here (path_spilled.h). Everything else passes through, but for journeys that were not
 * seen well because the run was about to end.
 */
#pragma once

#include "event/core/live.h"
#include "event/path/path_spilled.h"

struct path_settle {
	struct path_spilled spilled;
	struct event_sink next;
	uint32_t spilling; /* requests, a bit each, whose event hands journeys over half finished: one at most */
	unsigned request;  /* the one */
	uint32_t paths;    /* requests whose events are journeys */
	uint64_t end_ns;   /* when hooks began to go away; 0: they are there */
};

/* The sink for live_start; settle and what is behind next must live as long. */
struct event_sink path_settle_sink(struct path_settle *settle, const struct event_sink *next);
/* Once the object is loaded: tells the kernel's side that journeys will be finished. */
int path_settle_begin(struct path_settle *settle, struct live *live, const struct event_request *requests,
		      unsigned count, struct why *why) _must_check_;
/* Before hooks go away: what journeys pass from now on is not seen well, and those are left out (journey_outlasts). */
void path_settle_stop(struct path_settle *settle);
/* After the last event: hands out what is left, as unfinished, and frees the rest. */
void path_settle_end(struct path_settle *settle);
