/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Groups added up by the kernel: a hash with a value for each processor, and a small table in front of it (config.h).
 * They are reached through maps of maps, so that an interval ends by putting empty ones in their places: the kernel
 * waits until no program uses the old ones, and what is read then is complete.
 */
#pragma once

#include "base/why.h"
#include "event/core/event_source.h"

struct live;

void live_group_init(struct live *live);
/* Before loading: makes the first maps of a request that adds up. */
int live_group_prepare(struct live *live, unsigned request, struct why *why) _must_check_;
/* After loading, before anything is attached. */
int live_group_begin(struct live *live, struct why *why) _must_check_;
void live_group_done(struct live *live);
/* An event with these keys in their places and everything else unknown. */
void live_group_restore(const struct event_request *request, const uint64_t *key, char *event);
