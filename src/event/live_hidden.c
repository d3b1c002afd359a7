/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What no program is told because of who runs (kernel/first_process.h): found out while the run goes on, and told at its end. */
#include "base/log.h"
#include "event/live_private.h"

/* Until it is known, the witness costs every switch of tasks some nanoseconds. */
#define LOOK_INTERVAL_NS (500 * NSEC_PER_MSEC)

void live_hidden_begin(struct live *live)
{
	struct why why = {};

	if (first_process_open(&live->first, &why) < 0)
		log_debug("whether programs are run while pid 1 runs is not known: %s", why.text);
}

static void on_look(void *context, uint64_t expirations _unused_)
{
	struct live *live = context;

	if (first_process_look(live->first) != FIRST_PROCESS_UNKNOWN)
		loop_remove(live->loop, take_ptr(live->first_timer));
}

void live_hidden_watch(struct live *live)
{
	if (live->first)
		(void)!loop_add_timer(live->loop, LOOK_INTERVAL_NS, LOOK_INTERVAL_NS, on_look, live,
				      &live->first_timer);
}

void live_hidden_end(struct live *live)
{
	if (live->first && first_process_look(live->first) == FIRST_PROCESS_HIDDEN)
		live->hidden_ns = first_process_ran_ns(live->first);
}

void live_tell_hidden(const struct live *live)
{
	if (live->hidden_ns)
		log_warn("what came in the %.1f ms in which pid 1 ran was not seen: this kernel runs no BPF program "
			 "then "
			 "(nest doctor tells more)",
			 (double)live->hidden_ns / (double)NSEC_PER_MSEC);
}
