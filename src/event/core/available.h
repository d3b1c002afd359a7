/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which events work on this kernel for this user. The quick answer loads nothing: privileges, names in BTF, tracepoints
 * in tracefs, kinds of programs, and what `--try` found out since the host was booted (available_cache.h). It takes
 * some milliseconds, so whoever is about to recommend an event or a tool can ask:
 *
 *	if (!event_unavailable("tcp.close"))
 *		...
 *
 * The slow answer loads and attaches every program, and is kept for the quick one.
 */
#pragma once

#include "event/core/hooks.h"

struct live;

struct availability {
	const struct event **events; /* hook_choice.request is an index of it */
	size_t count;
	const struct hook_plan *plan; /* NULL: nothing works */
	struct why why;               /* then why */
	struct hook_plan own;
	struct live *live; /* of the slow answer: the owner of the plan */
};

/* All events of the catalogue. */
void availability_look(struct availability *availability);
void availability_try(struct availability *availability);
void availability_done(struct availability *availability);

/* Why the event does not work; NULL: it does. */
const char *availability_reason(const struct availability *availability, const char *name);

/*
 * The quick answer for who recommends an event to others, looked up once in the life of the process: why this kernel
 * cannot do it. NULL: it can, or this user may load nothing at all, which another may.
 */
const char *event_unavailable(const char *event);
