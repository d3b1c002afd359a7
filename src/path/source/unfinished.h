/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Journeys that have not come to an end when a run does: they lie in the kernel's pools still, and count as well. */
#pragma once

#include "event/core/live.h"
#include "event/path/path_spilled.h"

/* Those of one direction, by the name of its pool, as unfinished; after everything was detached. */
int unfinished_read(const struct live *live, const char *pool, path_spilled_fn fn, void *context) _must_check_;
/* Of a journey, what was seen before that time, as unfinished. */
void unfinished_cut(const struct event_head *head, struct path_journey *journey, uint64_t end_ns);
