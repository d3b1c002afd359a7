/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Journeys from the running kernel. Programs, filter, socket owners and loss accounting come from event/core/live.h;
 * this file adds flow sampling and the conversion from event to journey.
 *
 *   journey_source_open(&options, &source, &why);
 *   journey_source_start(source, loop, on_journey, context, &why);
 *   ... the loop runs ...
 *   journey_source_finish(source, &why);
 *   journey_source_close(source);
 */
#pragma once

#include "base/loop.h"
#include "base/why.h"
#include "event/core/live.h"
#include "path/journey/journey.h"

struct journey_source_options {
	const char *where;     /* in the language of --where, over the fields of journey_event_shape; NULL: all */
	bool rx, tx;           /* directions; none: both */
	bool by_tree;          /* only processes that journey_source_follow names, and those that they start */
	const char *cgroup;    /* only this control group and those in it: its directory; NULL: all */
	bool returns;          /* the stage between copied data and the end of the system call */
	uint32_t sample;       /* follow one flow in N, with all of its packets; 0 or 1: every flow */
	uint32_t least;        /* where max_cpu has made that fewer: as many as this again, once it costs little */
	uint8_t set;           /* of hooks, enum event_set: less than all see less than all */
	double max_cpu;        /* share of one CPU that this may cost before fewer flows are followed; 0: no limit */
	uint64_t buffer_bytes; /* 0: the default */
	void (*late_refused)(const char *reason); /* of live_options */
};

/* What became of the packets that pass the filter as far as it is decidable on arrival. */
struct journey_account {
	uint64_t packets; /* with a journey */
	uint64_t delivered;
	uint64_t dropped;
	uint64_t forwarded;
	uint64_t unfinished; /* in flight at the end of the run, or lost */
	uint64_t merged;     /* merged into another packet by GRO: part of that one's journey */
	uint64_t cut;        /* extra segments of packets split on transmit */
	uint64_t clamped;    /* stages set to 0 because the clocks of two CPUs differ */
	uint64_t reported;   /* journeys that passed the rest of the filter */
	uint32_t sample;     /* current rate: one flow in N */
	double cpu;          /* recent cost as a share of one CPU; NAN: not measured */
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
/* Detaches and delivers what is left; journeys still open are reported as unfinished. */
int journey_source_finish(struct journey_source *source, struct why *why) _must_check_;

/* The cost exceeds max_cpu, and following fewer flows would not help. */
bool journey_source_costs_too_much(const struct journey_source *source);
/* Hook set in use: the filter may have changed it. */
enum event_set journey_source_set(const struct journey_source *source);
struct journey_account journey_source_account(const struct journey_source *source);
struct event_loss journey_source_loss(const struct journey_source *source);
/* Limitations of this run beyond missing stages, each with its reason. */
void journey_source_each_missing(const struct journey_source *source, void (*fn)(const char *what, const char *reason));
/* Underlying event source. */
const struct live *journey_source_live(const struct journey_source *source);
/* Why this run does not trace a stage; NULL: it does. */
const char *journey_source_hidden_reason(const struct journey_source *source, enum path_stage stage);
