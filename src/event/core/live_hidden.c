/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time in which no BPF program runs because pid 1 is on the CPU (kernel/first_process.h): detected during the run. */
#include "base/log.h"
#include "event/core/live_private.h"

/*
 * Watching costs some nanoseconds per context switch, until pid 1 has run. It cannot be interrupted: once everything is
 * attached the process may have no privilege to attach again.
 */
#define LOOK_EVERY_NS (250 * NSEC_PER_MSEC)

void live_hidden_begin(struct live *live)
{
	struct why why = {};

	if (first_process_open(&live->first, &why) < 0)
		log_debug("cannot determine whether BPF programs run while pid 1 is on the CPU: %s", why.text);
}

static void on_look(void *context, uint64_t expirations _unused_)
{
	struct live *live = context;

	if (first_process_look(live->first) != FIRST_PROCESS_UNKNOWN)
		loop_remove(live->loop, take_ptr(live->first_watch));
}

void live_hidden_watch(struct live *live)
{
	if (!live->first)
		return;
	first_process_begin(live->first);
	if (first_process_watch(live->first) == 0)
		(void)!loop_add_timer(live->loop, LOOK_EVERY_NS, LOOK_EVERY_NS, on_look, live, &live->first_watch);
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
