/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A journey as the kernel tells it, and back. Filters are written over the fields of the event, whether journeys come
 * from the kernel or from a recording: what can be asked for is the same.
 */
#pragma once

#include "event/core/event.h"
#include "path/journey/journey.h"

struct journey_event {
	struct event_head head;
	struct path_journey data;
	struct record record; /* of both */
};

/* What --where may name: parse expressions against this. */
struct shape journey_event_shape(void);
/* Steps that an event has no room for are left out. The record points into it: it must stay where it is. */
void journey_to_event(const struct journey *journey, struct journey_event *ret_event);
void journey_from_event(const struct event_head *head, const struct path_journey *data, struct journey *ret_journey);
