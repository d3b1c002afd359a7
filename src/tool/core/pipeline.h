/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What happens to events between their source and the output: filter, then show or add up. The plan is turned into
 * requests first, with as much of the filter and of the adding up as the source can do itself; whatever is left is done
 * here, with the same result.
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
	struct field_alias *aliases;         /* headings of the tool */
	struct expr *where[TOOL_EVENTS_MAX]; /* what must be evaluated here; NULL: nothing */
	bool with_extra;                     /* somebody looks at what the program adds */
	uint64_t start_ns;
	uint64_t seen; /* events that came, or were added up */
	struct output *output;
	struct aggregate *aggregate; /* NULL: events are shown one by one */
	struct row_layout joint;     /* of several events: the fields of all of them */
	struct record_type joint_type;
	void *joint_row;
	struct cgroups cgroups;
	struct stacks stacks;
	bool repeated;       /* what is added up is shown at intervals */
	uint64_t shown_ns;   /* when adding up began, or the last interval was shown; 0 of a recording */
	uint64_t span_ns;    /* of a recording: its intervals */
	struct store *store; /* where events are kept as well; NULL: nowhere */
	struct store_table *tables[TOOL_EVENTS_MAX];
	int kept; /* what keeping them came to */
};

/* -EINVAL with a sentence when something does not fit together. */
int pipeline_open(struct pipeline *pipeline, const struct trace_plan *plan, const struct trace_options *options,
		  struct why *why) _must_check_;
/* Frees everything; the first error that writing met. */
int pipeline_close(struct pipeline *pipeline) _must_check_;

/* Events that pass the filter go there, too, from now on. Stays the caller's. */
int pipeline_keep(struct pipeline *pipeline, struct store *store) _must_check_;

/* The two ends of the source's sink. */
void pipeline_event(void *context, unsigned request, struct record *record);
void pipeline_group(void *context, unsigned request, struct record *record, const struct event_group *group);
/* Shows what was added up until now and begins anew. */
void pipeline_show_groups(struct pipeline *pipeline, uint64_t now);
