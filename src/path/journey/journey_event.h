/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Conversion between a journey and its kernel event. Filters are expressions over the event's fields, both live and on
 * a recording, so the same names work in both.
 */
#pragma once

#include "event/core/event.h"
#include "path/journey/journey.h"

struct journey_event {
	struct event_head head;
	struct path_journey data;
	struct record record; /* of both */
};

/* Fields that --where accepts: parse expressions against this. */
struct shape journey_event_shape(void);
/* Steps beyond the event's capacity are omitted. The record points into ret_event, which must not move. */
void journey_to_event(const struct journey *journey, struct journey_event *ret_event);
void journey_from_event(const struct event_head *head, const struct path_journey *data, struct journey *ret_journey);
