/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Groups aggregated by the kernel: a per-CPU hash with a small front table (config.h). They are inner maps, so that an
 * interval ends by replacing them with empty ones: the kernel waits until no program uses the old ones, which are then
 * complete.
 */
#pragma once

#include "base/why.h"
#include "event/core/event_source.h"

struct live;

void live_group_init(struct live *live);
/* Before loading: creates the first maps of an aggregating request. */
int live_group_prepare(struct live *live, unsigned request, struct why *why) _must_check_;
/* After loading, before attaching; or begins it, for groups_later. */
int live_group_begin(struct live *live, struct why *why) _must_check_;
void live_group_done(struct live *live);
/* Rebuilds an event from its keys; all else is unknown. */
void live_group_restore(const struct event_request *request, const uint64_t *key, char *event);
