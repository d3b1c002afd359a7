/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events in a run: of the kernel or of a recording, for one view or several, each with its own filter. */
#pragma once

#include "event/core/live.h"
#include "run/run.h"
#include "tool/core/pipeline.h"
#include "tool/core/recorded.h"

#define RUN_EVENTS_MAX 64

/* An item: an event, or a group that the kernel added up. */
struct run_event {
	unsigned request; /* of the source */
	const struct record *record;
	const struct event_group *group; /* NULL: an event */
};

/* The source. */
struct run_events {
	struct run_source source;
	struct run *run;
	uint64_t buffer_bytes;
	const char *cgroup; /* as -C names it; NULL: all */
	const char *iface;  /* as -i names it; NULL: all */
	bool user_stacks;
	uint64_t read_ns;    /* between two readings of the kernel while events arrive; 0: the default */
	const char *without; /* what a kernel that cannot trace them leaves out: a warning, not an error; or NULL */
	struct event_request requests[RUN_EVENTS_MAX];
	unsigned count;
	struct live *live;
	struct recorded *recorded;
};

/* A sink: what happens to events between the source and the output (pipeline.h), or a recording alone. */
struct run_session {
	struct run_sink sink;
	struct run_events *events;
	const struct trace_plan *plan;
	const struct trace_options *options;
	unsigned first; /* of its requests */
	struct pipeline session;
};

/* Makes it a source of the run. Requests come with the sessions. */
void run_events_init(struct run_events *events, struct run *run, const struct trace_options *options);
/* Makes the session a sink that carries out the plan. */
void run_events_add(struct run_events *events, struct run_session *session, const struct trace_plan *plan,
		    const struct trace_options *options);
/* What the options of tools say about a run. */
struct run_options run_options_of(const char *name, const struct trace_options *options);
/* Carries out a plan, shown as the options say: what `nest trace` and all tools do. An exit code. */
int run_trace(const struct trace_plan *plan, const struct trace_options *options);
