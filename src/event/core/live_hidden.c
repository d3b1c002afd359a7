/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time in which no BPF program runs because pid 1 is on the CPU (kernel/first_process.h): detected during the run. */
#include "base/log.h"
#include "event/core/live_private.h"

/* Watching costs some nanoseconds per context switch: a fifth of the time is enough. */
#define WATCH_EVERY_NS (250 * NSEC_PER_MSEC)
#define WATCH_NS       (50 * NSEC_PER_MSEC)

void live_hidden_begin(struct live *live)
{
	struct why why = {};

	if (first_process_open(&live->first, &why) < 0)
		log_debug("cannot tell whether BPF programs run while pid 1 is on the CPU: %s", why.text);
}

static void on_rest(void *context, uint64_t expirations _unused_)
{
	struct live *live = context;

	loop_remove(live->loop, take_ptr(live->first_rest));
	first_process_rest(live->first);
}

static void on_watch(void *context, uint64_t expirations _unused_)
{
	struct live *live = context;

	if (first_process_look(live->first) != FIRST_PROCESS_UNKNOWN) {
		loop_remove(live->loop, take_ptr(live->first_watch));
		return;
	}
	if (first_process_watch(live->first) == 0 && !live->first_rest)
		(void)!loop_add_timer(live->loop, WATCH_NS, 0, on_rest, live, &live->first_rest);
}

void live_hidden_watch(struct live *live)
{
	if (!live->first)
		return;
	/* Watching began while the programs were loaded. */
	first_process_rest(live->first);
	first_process_begin(live->first);
	(void)!loop_add_timer(live->loop, WATCH_EVERY_NS, WATCH_EVERY_NS, on_watch, live, &live->first_watch);
}

void live_hidden_end(struct live *live)
{
	if (live->first && first_process_look(live->first) == FIRST_PROCESS_HIDDEN)
		live->hidden_ns = first_process_ran_ns(live->first);
}

uint64_t live_hidden_ns(const struct live *live)
{
	return live->hidden_ns;
}
