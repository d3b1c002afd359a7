/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <bpf/bpf.h>
#include <errno.h>
#include <stddef.h>

#include "path/source/unfinished.h"

/* 512 bytes each. */
#define READ_AT_ONCE 256

static void set_waits(struct path_journey *journey)
{
	memset((char *)journey + offsetof(struct path_journey, sndbuf_ns), 0,
	       sizeof(*journey) - offsetof(struct path_journey, sndbuf_ns));
	path_add_waits(journey);
}

void unfinished_cut(const struct event_head *head, struct path_journey *journey, uint64_t end_ns)
{
	uint64_t at_ns = head->time_ns;
	uint8_t kept = 0;

	while (kept < min_of(journey->step_count, (uint8_t)PATH_STEPS_MAX) && at_ns + journey->steps[kept].ns <= end_ns)
		at_ns += journey->steps[kept++].ns;
	journey->step_count = kept;
	journey->total_ns = at_ns - head->time_ns;
	journey->end = PATH_UNFINISHED;
	set_waits(journey);
}

static void report(const struct live *live, struct path_way *way, path_spilled_fn fn, void *context)
{
	struct path_event *event = &way->event;

	/* Empty, or not yet matched by the filter. */
	if (way->state <= PATH_WAY_TAKEN || way->tentative)
		return;
	event->data.total_ns = way->last_ns - event->head.time_ns;
	event->data.end = PATH_UNFINISHED;
	event->head.time_ns = live_real_ns(live, event->head.time_ns);
	set_waits(&event->data);
	fn(context, &event->head, &event->data);
}

int unfinished_read(const struct live *live, const char *pool, path_spilled_fn fn, void *context)
{
	_cleanup_free_ struct path_way *ways = xzalloc(READ_AT_ONCE * sizeof(*ways));
	int fd = live_map(live, pool), r = 0;
	uint32_t keys[READ_AT_ONCE], next = 0;
	bool first = true;

	if (fd < 0)
		return fd;
	while (r == 0) {
		uint32_t count = READ_AT_ONCE;

		/* The last batch comes with an error (-ENOENT). */
		if (bpf_map_lookup_batch(fd, first ? NULL : &next, &next, keys, ways, &count, NULL) < 0)
			r = errno == ENOENT ? 1 : -errno;
		for (uint32_t i = 0; r >= 0 && i < count; i++)
			report(live, &ways[i], fn, context);
		first = false;
	}
	return r < 0 ? r : 0;
}
