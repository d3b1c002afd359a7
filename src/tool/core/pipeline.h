/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events from source to output: filter, then show or aggregate. The plan becomes requests that push as much filtering
 * and aggregation to the source as it can do; the rest happens here, with the same result.
 */
#pragma once

#include "event/core/event_source.h"
#include "store/store.h"
#include "tool/core/cgroups.h"
#include "tool/core/stacks.h"
#include "tool/core/tool.h"

struct pipeline {
	const struct trace_plan *plan;
	const struct trace_options *options;
	unsigned count;
	struct event_request requests[TOOL_EVENTS_MAX];
	struct shape shapes[TOOL_EVENTS_MAX];
	struct field_alias *aliases;           /* headings of the tool */
	const char *where_of[TOOL_EVENTS_MAX]; /* the plan's condition of this event alone */
	struct expr *where[TOOL_EVENTS_MAX];   /* the part to evaluate here; NULL: nothing */
	bool where_rows;                       /* --where filters the aggregated rows, not the events */
	bool with_extra;                       /* fields made in user space are used */
	uint64_t start_ns;
	uint64_t seen; /* events received or aggregated */
	struct output *output;
	struct aggregate *aggregate; /* NULL: stream of events */
	struct row_layout joint;     /* several events: union of their fields */
	struct record_type joint_type;
	void *joint_row;
	struct cgroups cgroups;
	struct stacks stacks;
	bool repeated;       /* aggregates are printed at intervals */
	uint64_t shown_ns;   /* start of the current interval; 0 for a recording */
	uint64_t span_ns;    /* of a recording: its interval */
	struct store *store; /* where events are also saved; NULL: nowhere */
	struct store_table *tables[TOOL_EVENTS_MAX];
	int kept;             /* first error of saving */
	uint64_t kept_second; /* with a rate: second of the last event, and how many of it were saved */
	unsigned kept_now;
	uint64_t left_out; /* beyond the rate */
};

/* -EINVAL with a message if options conflict. */
int pipeline_open(struct pipeline *pipeline, const struct trace_plan *plan, const struct trace_options *options,
		  struct why *why) _must_check_;
/* Frees everything; returns the first write error. */
int pipeline_close(struct pipeline *pipeline) _must_check_;

/* Also saves the events that pass the filter. The store stays the caller's. */
int pipeline_keep(struct pipeline *pipeline, struct store *store) _must_check_;

/* Callbacks for struct event_sink. */
void pipeline_event(void *context, unsigned request, struct record *record);
void pipeline_group(void *context, unsigned request, struct record *record, const struct event_group *group);
/* Prints the aggregates and resets them. */
void pipeline_show_groups(struct pipeline *pipeline, uint64_t now);
