/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Journeys still open when a run ends: they remain in the kernel's pools and count as unfinished. */
#pragma once

#include "event/core/live.h"
#include "event/path/path_spilled.h"

/* Reads the pool of one direction, after all programs are detached. */
int unfinished_read(const struct live *live, const char *pool, path_spilled_fn fn, void *context) _must_check_;
/* Truncates a journey to what was seen before end_ns, as unfinished. */
void unfinished_cut(const struct event_head *head, struct path_journey *journey, uint64_t end_ns);
