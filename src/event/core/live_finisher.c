/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/core/live_private.h"

int live_finishers_begin(struct live *live, struct why *why)
{
	for (unsigned i = 0; live->finishes && i < live->count; i++) {
		const struct event *event = live->requests[i].event;
		const struct event_config *config = &live->requests[i].config;
		/*
		 * Only the kernel knows whether a process or cgroup is followed, and it does not filter spilled events.
		 */
		bool spills = event->spills && !config->by_tree && !config->by_cgroup;
		void *address;
		int r = spills ? live_variable(live, event->spills, sizeof(uint32_t), &address) : 0;

		if (r < 0)
			return why_set(why, r, "the BPF object lacks a variable");
		if (spills)
			*(uint32_t *)address = 1;
		if (event->finisher)
			live->finishing[i] = event->finisher->begin(i, spills, &live->sink);
	}
	return 0;
}

void live_finishers_stop(struct live *live)
{
	for (unsigned i = 0; i < live->count; i++)
		if (live->finishing[i])
			live->requests[i].event->finisher->stop(live->finishing[i]);
}

void live_finishers_end(struct live *live, bool pass)
{
	for (unsigned i = 0; i < live->count; i++)
		if (live->finishing[i])
			live->requests[i].event->finisher->end(take_ptr(live->finishing[i]), pass);
}
