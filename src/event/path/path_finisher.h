/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Journeys of sockets that hold more packets than the kernel tracks arrive half-finished and are finished here
 * (path_spilled.h). All others pass unchanged, except those cut short by the end of the run.
 */
#pragma once

#include "event/core/event_source.h"
#include "event/path/path.h"

extern const struct event_finisher path_finisher;

/*
 * Whether the journey has more than its last stage after end_ns. Hooks detach one by one over about 0.2 s at the end of
 * a run: such a journey misses stages and counts as unfinished.
 */
bool path_outlasts(const struct event_head *head, const struct path_journey *journey, uint64_t end_ns);
