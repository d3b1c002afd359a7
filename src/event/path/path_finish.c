/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/path/path_finish.h"
#include "base/clock.h"
#include "event/path/path_names.h"
#include "path/journey/journey_event.h"

static void on_waited(void *context, const struct event_head *head, const struct path_journey *journey)
{
	struct path_settle *settle = context;
	struct record record = {.parts = {[EVENT_PART_HEAD] = head, [EVENT_PART_DATA] = journey}};

	settle->next.event(settle->next.context, settle->request, &record);
}

/* Spilled journeys come from one event of the catalogue only, so what waits is all of that request. */
static void on_event(void *context, unsigned request, struct record *record)
{
	struct path_settle *settle = context;
	const struct event_head *head = record->parts[EVENT_PART_HEAD];
	const struct path_journey *journey = record->parts[EVENT_PART_DATA];

	if (settle->end_ns && settle->paths & 1u << request && journey->end <= PATH_UNFINISHED &&
	    journey_outlasts(head, journey, settle->end_ns))
		return;
	if (!(settle->spilling & 1u << request)) {
		settle->next.event(settle->next.context, request, record);
	} else if (journey->end == PATH_SPILLED) {
		settle->request = request;
		path_spilled_add(&settle->spilled, head, journey);
	} else if (journey->end == PATH_READ || journey->end == PATH_CLOSED) {
		struct path_read_event read = {.head = *head, .as_journey = *journey};

		path_spilled_read(&settle->spilled, &read, on_waited, settle);
	} else {
		settle->next.event(settle->next.context, request, record);
	}
}

static void on_group(void *context, unsigned request, struct record *record, const struct event_group *group)
{
	struct path_settle *settle = context;

	settle->next.group(settle->next.context, request, record, group);
}

struct event_sink path_settle_sink(struct path_settle *settle, const struct event_sink *next)
{
	path_spilled_init(&settle->spilled);
	settle->next = *next;
	settle->spilling = settle->paths = 0;
	settle->end_ns = 0;
	return (struct event_sink){.event = on_event, .group = on_group, .context = settle};
}

int path_settle_begin(struct path_settle *settle, struct live *live, const struct event_request *requests,
		      unsigned count, struct why *why)
{
	for (unsigned i = 0; i < count; i++) {
		void *address;
		int r;

		if (requests[i].event->complete == path_complete)
			settle->paths |= 1u << i;
		/* Whether a process or its group is followed only the kernel knows. */
		if (!requests[i].event->spills || requests[i].config.by_tree || requests[i].config.by_cgroup)
			continue;
		r = live_variable(live, requests[i].event->spills, sizeof(uint32_t), &address);
		if (r < 0)
			return why_set(why, r, "the BPF object lacks a variable");
		*(uint32_t *)address = 1;
		settle->spilling |= 1u << i;
	}
	return 0;
}

void path_settle_stop(struct path_settle *settle)
{
	settle->end_ns = clock_real_ns();
}

void path_settle_end(struct path_settle *settle)
{
	if (settle->spilling)
		path_spilled_end(&settle->spilled, on_waited, settle);
	path_spilled_done(&settle->spilled);
}
