/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Event sources and sinks. The kernel (live.h) and recordings are sources; sinks do not know which one they serve. */
#pragma once

#include "event/core/config.h"
#include "event/core/event.h"

/* Callbacks for events. Records are valid during the call only. */
struct event_sink {
	/* One event. A part that the source lacks (EVENT_PART_EXTRA of the live kernel) is NULL. */
	void (*event)(void *context, unsigned request, struct record *record);
	/* A group aggregated by the kernel: the record has only the keys. */
	void (*group)(void *context, unsigned request, struct record *record, const struct event_group *group);
	void *context;
};

/*
 * Between kernel and sink if a run wants complete events (live_options.finish): holds incomplete events back and passes
 * on complete ones. One state per request.
 */
struct event_finisher {
	/* spills: the kernel sends what it has no room for. */
	void *(*begin)(unsigned request, bool spills, const struct event_sink *next);
	void (*event)(void *state, struct record *record);
	/* The hooks are about to be detached one by one. */
	void (*stop)(void *state);
	/* After the last event: passes on the rest if wanted, and frees the state. */
	void (*end)(void *state, bool pass);
};

/* A requested event. */
struct event_request {
	const struct event *event;
	struct event_config config;
	bool cheap;    /* without costly roles */
	bool only_tcp; /* without datagram roles */
	uint8_t set;   /* enum event_set */
};

/* Lost events, by reason. */
struct event_loss {
	uint64_t ring;
	uint64_t groups;
	uint64_t rooms;
	uint64_t memory; /* no memory to keep the start until the end */
	uint64_t missed; /* runs skipped because the program was running; upper bound of lost events */
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
