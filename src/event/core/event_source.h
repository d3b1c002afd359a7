/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where events come from, and where they go. The kernel (live.h) is one source, a recording is another; whoever
 * filters, shows or adds up events does not know which.
 */
#pragma once

#include "event/core/config.h"
#include "event/core/event.h"

/* What is done with events. Memory behind a record is valid during the call. */
struct event_sink {
	/* One event. A part that the source does not know (EVENT_PART_EXTRA of the live kernel) is NULL. */
	void (*event)(void *context, unsigned request, struct record *record);
	/* A group that the kernel added up: the record has the keys only. */
	void (*group)(void *context, unsigned request, struct record *record, const struct event_group *group);
	void *context;
};

/*
 * Stands between the kernel and the sink of a run that wants whole events (live_options.finish): holds back what is
 * half finished, and passes on what is whole. One state for each request.
 */
struct event_finisher {
	/* spills: the kernel was told to hand over what it has no room for. */
	void *(*begin)(unsigned request, bool spills, const struct event_sink *next);
	void (*event)(void *state, struct record *record);
	/* Hooks are about to go away, one after the other. */
	void (*stop)(void *state);
	/* After the last event: passes on what is left, if anybody wants it, and frees the state. */
	void (*end)(void *state, bool pass);
};

/* One event that is wanted, and how. */
struct event_request {
	const struct event *event;
	struct event_config config;
	bool cheap;    /* without roles that are costly */
	bool only_tcp; /* without roles of datagrams */
	uint8_t set;   /* enum event_set */
};

/* What was not told, by the reason. */
struct event_loss {
	uint64_t ring;
	uint64_t groups;
	uint64_t rooms;
	uint64_t memory; /* what began could not be kept until it ended */
	uint64_t missed; /* programs that were running already; no more events than these were lost */
};

static inline void event_loss_add(struct event_loss *sum, const struct event_loss *loss)
{
	sum->ring += loss->ring;
	sum->groups += loss->groups;
	sum->rooms += loss->rooms;
	sum->memory += loss->memory;
	sum->missed += loss->missed;
}

static inline uint64_t event_loss_total(const struct event_loss *loss)
{
	return loss->ring + loss->groups + loss->rooms + loss->memory + loss->missed;
}
