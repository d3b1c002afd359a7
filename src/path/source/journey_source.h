/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The running kernel as a source of journeys. Programs, filter, owners of sockets and losses are those of events
 * (event/core/live.h); what is added here is the choice of flows and turning an event into a journey.
 *
 *	journey_source_open(&options, &source, &why);
 *	journey_source_start(source, loop, on_journey, context, &why);
 *	... the loop runs ...
 *	journey_source_finish(source, &why);
 *	journey_source_close(source);
 */
#pragma once

#include "base/loop.h"
#include "base/why.h"
#include "event/core/live.h"
#include "path/journey/journey.h"

struct journey_source_options {
	const char *where;  /* in the language of --where, over the fields of journey_event_shape; NULL: all */
	bool rx, tx;        /* directions; none: both */
	bool by_tree;       /* only processes that journey_source_follow names, and those that they start */
	const char *cgroup; /* only this control group and those in it: its directory; NULL: all */
	bool returns;       /* the stage between copied data and the end of the system call */
	uint32_t sample;    /* one flow in so many, all packets of it; 0 or 1: every flow */
	uint32_t least;     /* where max_cpu has made that fewer: as many as this again, once it costs little */
	uint8_t set;        /* of hooks, enum event_set: less than all see less than all */
	double max_cpu;     /* share of one processor that this may cost before fewer flows are followed; 0: no limit */
	uint64_t buffer_bytes;                    /* 0: the default */
	void (*late_refused)(const char *reason); /* of live_options */
};

/* Where packets went, of those that passed the filter as far as it can be decided when they arrive. */
struct journey_account {
	uint64_t packets; /* that journeys began for */
	uint64_t delivered;
	uint64_t dropped;
	uint64_t forwarded;
	uint64_t unfinished; /* at the end of the run, or lost sight of */
	uint64_t merged;     /* made one with another packet on arrival (GRO): part of that one's journey */
	uint64_t cut;        /* pieces of packets that were cut up on their way out, but for one of each */
	uint64_t clamped;    /* stages that clocks of two processors would have made negative, and that are 0 */
	uint64_t told;       /* journeys that the rest of the filter let through */
	uint32_t sample;     /* one flow in so many is followed now */
	double cpu;          /* share of a processor that following cost lately; NAN: not measured */
};

struct journey_source;
typedef void (*journey_fn)(void *context, const struct journey *journey);

int journey_source_open(const struct journey_source_options *options, struct journey_source **ret_source,
			struct why *why) _must_check_;
void journey_source_close(struct journey_source *source);
static inline void journey_source_closep(struct journey_source **source)
{
	journey_source_close(*source);
}

int journey_source_start(struct journey_source *source, struct loop *loop, journey_fn journey, void *context,
			 struct why *why) _must_check_;
int journey_source_follow(struct journey_source *source, uint32_t pid) _must_check_;
/* Detaches, hands out what is left: journeys that have not ended are told as unfinished. */
int journey_source_finish(struct journey_source *source, struct why *why) _must_check_;

/* More than max_cpu, and to follow fewer flows would not help. */
bool journey_source_costs_too_much(const struct journey_source *source);
/* Which hooks the run has: the filter may have changed it. */
enum event_set journey_source_set(const struct journey_source *source);
struct journey_account journey_source_account(const struct journey_source *source);
struct event_loss journey_source_loss(const struct journey_source *source);
/* What else cannot be told in this run, each with the reason. */
void journey_source_each_missing(const struct journey_source *source, void (*fn)(const char *what, const char *reason));
/* The source of its events. */
const struct live *journey_source_live(const struct journey_source *source);
/* Why a stage is not seen in this run; NULL: it is seen. */
const char *journey_source_hidden_reason(const struct journey_source *source, enum path_stage stage);
