/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Export of recordings to the formats of other programs. */
#pragma once

#include "base/out.h"
#include "store/input.h"
#include "store/rows.h"

struct export_request {
	struct recording *recording;
	struct time_range range;
	const char *table; /* NULL: all that fit the format */
};

/* Each writes to out; -ENOENT and why when the recording has no data for the format. */
int export_csv(const struct export_request *request, struct out *out, struct why *why) _must_check_;
int export_jsonl(const struct export_request *request, struct out *out, struct why *why) _must_check_;
/* Packets of events, as headers, with process and reason as comments. */
int export_pcapng(const struct export_request *request, struct out *out, struct why *why) _must_check_;
/* Trace-event JSON, as Perfetto and chrome://tracing read it. */
int export_perfetto(const struct export_request *request, struct out *out, struct why *why) _must_check_;
/* Stacks of events, one line per stack with its count, outermost function first. */
int export_folded(const struct export_request *request, struct out *out, struct why *why) _must_check_;

/* --- for the formats --- */

/* Events of all tables, sorted by time. */
typedef int export_event_fn(void *context, const char *event, const struct shape *shape, const struct record *record);
int export_each_event(const struct export_request *request, export_event_fn *fn, void *context,
		      struct why *why) _must_check_;
