/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The running kernel as a source of journeys. Programs, filter, owners of sockets and losses are those of events
 * (event/live.h); what is added here is the choice of flows and turning an event into a journey.
 *
 *	path_open(&options, &source, &why);
 *	path_start(source, loop, on_journey, context, &why);
 *	... the loop runs ...
 *	path_finish(source, &why);
 *	path_close(source);
 */
#pragma once

#include "base/loop.h"
#include "base/why.h"
#include "event/core/event_source.h"
#include "path/journey/journey.h"

struct path_options {
	const char *where;  /* in the language of --where, over the fields of journey_event_shape; NULL: all */
	bool rx, tx;        /* directions; none: both */
	bool by_tree;       /* only processes that path_follow names, and those that they start */
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
struct path_account {
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

struct live;
struct path_source;
typedef void (*path_journey_fn)(void *context, const struct journey *journey);

int path_open(const struct path_options *options, struct path_source **ret_source, struct why *why) _must_check_;
void path_close(struct path_source *source);
static inline void path_closep(struct path_source **source)
{
	path_close(*source);
}

int path_start(struct path_source *source, struct loop *loop, path_journey_fn journey, void *context,
	       struct why *why) _must_check_;
int path_follow(struct path_source *source, uint32_t pid) _must_check_;
/* Detaches, hands out what is left: journeys that have not ended are told as unfinished. */
int path_finish(struct path_source *source, struct why *why) _must_check_;

/* More than max_cpu, and to follow fewer flows would not help. */
bool path_costs_too_much(const struct path_source *source);
/* Which hooks the run has: the filter may have changed it. */
enum event_set path_set(const struct path_source *source);
struct path_account path_account(const struct path_source *source);
struct event_loss path_loss(const struct path_source *source);
/* What else cannot be told in this run, and why, on stderr. */
void path_tell_missing(const struct path_source *source);
/* The source of its events. */
const struct live *journey_source_live(const struct path_source *source);
/* Why a stage is not seen in this run; NULL: it is seen. */
const char *path_hidden_reason(const struct path_source *source, enum path_stage stage);
