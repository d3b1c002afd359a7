/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What happens to events between their source and the output: filter, then show or add up. The plan is turned into
 * requests first, with as much of the filter and of the adding up as the source can do itself; whatever is left is done
 * here, with the same result.
 */
#pragma once

#include "event/core/event_source.h"
#include "store/writer.h"
#include "tool/core/cgroups.h"
#include "tool/core/stacks.h"
#include "tool/core/tool.h"

struct session {
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
int session_open(struct session *session, const struct trace_plan *plan, const struct trace_options *options,
		 struct why *why) _must_check_;
/* Frees everything; the first error that writing met. */
int session_close(struct session *session) _must_check_;

/* Events that pass the filter go there, too, from now on. Stays the caller's. */
int session_keep(struct session *session, struct store *store) _must_check_;

/* The two ends of the source's sink. */
void session_event(void *context, unsigned request, struct record *record);
void session_group(void *context, unsigned request, struct record *record, const struct event_group *group);
/* Shows what was added up until now and begins anew. */
void session_show_groups(struct session *session, uint64_t now);
