/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Groups added up by the kernel: a hash with a value for each processor. It is reached through a map of maps, so that an
 * interval ends by putting an empty one in its place: the kernel waits until no program uses the old one, and what is
 * read then is complete.
 */
#pragma once

#include "base/why.h"
#include "event/source.h"

struct live;

/* Before loading: makes the first map of a request that adds up. */
int live_group_prepare(struct live *live, unsigned request, struct why *why) _must_check_;
/* After loading, before anything is attached. */
int live_group_begin(struct live *live, struct why *why) _must_check_;
void live_group_done(struct live *live);
/* An event with these keys in their places and everything else unknown. */
void live_group_restore(const struct event_request *request, const char *key, char *event);
