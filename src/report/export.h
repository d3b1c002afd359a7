/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recordings in the formats of other programs. */
#pragma once

#include "base/out.h"
#include "store/input.h"
#include "store/rows.h"

struct export_request {
	struct recording *recording;
	struct time_range range;
	const char *table; /* NULL: all that make sense */
};

/* Each writes to out; -ENOENT with a sentence when the recording holds nothing for the format. */
int export_csv(const struct export_request *request, struct out *out, struct why *why) _must_check_;
int export_jsonl(const struct export_request *request, struct out *out, struct why *why) _must_check_;
/* Packets that events tell of, as headers, with who and why as comments. */
int export_pcapng(const struct export_request *request, struct out *out, struct why *why) _must_check_;
/* Trace-event JSON, as Perfetto and chrome://tracing read it. */
int export_perfetto(const struct export_request *request, struct out *out, struct why *why) _must_check_;
/* Stacks of events, a line a stack with its count, outermost function first. */
int export_folded(const struct export_request *request, struct out *out, struct why *why) _must_check_;

/* --- for those who write a format --- */

/* What a row of that table is made of; false when this program does not know it. */
bool export_shape(const char *table, struct shape *ret_shape);

/* Calls fn for each row of the table in the range until it returns a negative errno. */
typedef int export_row_fn(void *context, const struct record *record, const struct state_span *span);
int export_each(const struct export_request *request, const char *table, export_row_fn *fn, void *context,
		struct why *why) _must_check_;
/* Events of all tables, in the order of their times. */
typedef int export_event_fn(void *context, const char *event, const struct shape *shape, const struct record *record);
int export_each_event(const struct export_request *request, export_event_fn *fn, void *context,
		      struct why *why) _must_check_;
