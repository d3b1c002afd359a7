/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Journeys as trace-event JSON for ui.perfetto.dev and chrome://tracing: one track per CPU with the stages that do
 * work, arrows along each packet, and waits as asynchronous slices of the journey.
 */
#pragma once

#include "base/out.h"
#include "base/vec.h"
#include "path/journey/journey.h"

/* Slices of a track must not overlap, so all must be known before the first is written: hence a limit. */
#define TRACE_JOURNEYS_MAX 50000

struct trace_events {
	VEC(struct journey) journeys;
	uint64_t left_out; /* beyond the limit */
};

void trace_events_add(struct trace_events *trace, const struct journey *journey);
void trace_events_done(struct trace_events *trace);
void trace_events_write(const struct trace_events *trace, struct out *out);
