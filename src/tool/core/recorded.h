/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recording as event source: merges several tables by time. */
#pragma once

#include "event/core/event_source.h"
#include "store/input.h"

struct recorded;

/* -ENOENT with a message if an event was not recorded. */
int recorded_open(struct recording *recording, const struct time_range *range, const struct event_request *requests,
		  unsigned count, struct recorded **ret_recorded, struct why *why) _must_check_;
void recorded_close(struct recorded *recorded);
static inline void recorded_closep(struct recorded **recorded)
{
	recorded_close(*recorded);
}

/* Time of the next event; 0 if unknown, UINT64_MAX at the end. */
uint64_t recorded_next_ns(const struct recorded *recorded);
/* Passes the next event to the sink: 1, 0 at the end, or an error. */
int recorded_pass(struct recorded *recorded, const struct event_sink *sink, struct why *why) _must_check_;
/* Events lost during recording, and rows that cannot be decoded. */
uint64_t recorded_lost(struct recorded *recorded);
