/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/core/live_private.h"

/* Whether a process or its group is followed only the kernel knows: what is finished here would not be asked. */
static int let_spill(struct live *live, const struct event_request *request, bool *ret_spills, struct why *why)
{
	void *address;
	int r;

	*ret_spills = request->event->spills && !request->config.by_tree && !request->config.by_cgroup;
	if (!*ret_spills)
		return 0;
	r = live_variable(live, request->event->spills, sizeof(uint32_t), &address);
	if (r < 0)
		return why_set(why, r, "the BPF object lacks a variable");
	*(uint32_t *)address = 1;
	return 0;
}

int live_finishers_begin(struct live *live, struct why *why)
{
	for (unsigned i = 0; live->finishes && i < live->count; i++) {
		const struct event_request *request = &live->requests[i];
		bool spills;
		int r;

		if (!request->event->finisher)
			continue;
		r = let_spill(live, request, &spills, why);
		if (r < 0)
			return r;
		live->finishing[i] = request->event->finisher->begin(i, spills, &live->sink);
	}
	return 0;
}

void live_finishers_stop(struct live *live)
{
	for (unsigned i = 0; i < live->count; i++)
		if (live->finishing[i])
			live->requests[i].event->finisher->stop(live->finishing[i]);
}

void live_finishers_end(struct live *live)
{
	for (unsigned i = 0; i < live->count; i++)
		if (live->finishing[i])
			live->requests[i].event->finisher->end(live->finishing[i]);
}

void live_finishers_done(struct live *live)
{
	for (unsigned i = 0; i < live->count; i++)
		if (live->finishing[i])
			live->requests[i].event->finisher->done(live->finishing[i]);
	free(live->finishing);
}
