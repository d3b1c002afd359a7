/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/record/wakeup.h"

#include <stdlib.h>

void wakeup_begin(struct wakeup *wakeup, uint64_t now_ns)
{
	*wakeup = (struct wakeup){.begin_ns = now_ns, .least_ns = WAKEUP_LATE_NS};
}

static uint64_t latency(const struct flow_late *late)
{
	return late->awake_ticks - late->due_ticks;
}

static int by_latency(const void *a, const void *b)
{
	const struct flow_late *one = a, *other = b;

	return latency(one) < latency(other) ? -1 : latency(one) > latency(other);
}

static int by_time(const void *a, const void *b)
{
	const struct flow_late *one = a, *other = b;

	return one->due_ticks < other->due_ticks ? -1 : one->due_ticks > other->due_ticks;
}

static void forget_short(struct wakeup *wakeup)
{
	size_t half = wakeup->late.count / 2;

	vec_sort(&wakeup->late, by_latency);
	wakeup->least_ns = latency(&wakeup->late.items[half]);
	memmove(wakeup->late.items, wakeup->late.items + half, (wakeup->late.count - half) * sizeof(struct flow_late));
	wakeup->late.count -= half;
	vec_sort(&wakeup->late, by_time);
}

void wakeup_note(struct wakeup *wakeup, uint64_t now_ns, uint64_t expirations)
{
	/* The first of them woke the recorder up, or would have. */
	uint64_t due_ns = wakeup->begin_ns + (wakeup->expired + 1) * WAKEUP_NS;

	wakeup->expired += expirations;
	if (now_ns < due_ns + wakeup->least_ns)
		return;
	vec_push(&wakeup->late, (struct flow_late){due_ns, now_ns});
	if (wakeup->late.count >= WAKEUP_ROOM)
		forget_short(wakeup);
}

void wakeup_done(struct wakeup *wakeup)
{
	vec_done(&wakeup->late);
}
