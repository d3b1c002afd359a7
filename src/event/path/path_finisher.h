/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Journeys that wait in a socket in which more waits than the kernel keeps come half finished, and are finished here
 * (path_spilled.h). Everything else passes, but for journeys that were not seen well because the run was about to end.
 */
#pragma once

#include "event/core/event_source.h"
#include "event/path/path.h"

extern const struct event_finisher path_finisher;

/*
 * Whether it passed more than its last stage after that time. When a run ends hooks go away one after the other, a
 * fifth of a second long: such a journey has lost what the missing ones would have told, and is unfinished.
 */
bool path_outlasts(const struct event_head *head, const struct path_journey *journey, uint64_t end_ns);
