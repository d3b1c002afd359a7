/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/path/path_finisher.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "event/path/path_spilled.h"

struct finishing {
	struct path_spilled spilled;
	struct event_sink next;
	unsigned request;
	bool spills;
	uint64_t end_ns; /* when detaching started; 0: hooks are attached */
};

bool path_outlasts(const struct event_head *head, const struct path_journey *journey, uint64_t end_ns)
{
	uint8_t count = min_of(journey->step_count, (uint8_t)PATH_STEPS_MAX);
	uint64_t last_ns = count ? journey->steps[count - 1].ns : 0;

	return head->time_ns + (journey->total_ns - min_of(last_ns, journey->total_ns)) > end_ns;
}

static void *begin(unsigned request, bool spills, const struct event_sink *next)
{
	struct finishing *f = xzalloc(sizeof(*f));

	*f = (struct finishing){.next = *next, .request = request, .spills = spills};
	path_spilled_init(&f->spilled);
	return f;
}

static void on_finished(void *state, const struct event_head *head, const struct path_journey *journey)
{
	struct finishing *f = state;
	struct record record = {.parts = {[EVENT_PART_HEAD] = head, [EVENT_PART_DATA] = journey}};

	f->next.event(f->next.context, f->request, &record);
}

static void on_event(void *state, struct record *record)
{
	struct finishing *f = state;
	const struct event_head *head = record->parts[EVENT_PART_HEAD];
	const struct path_journey *journey = record->parts[EVENT_PART_DATA];

	if (f->end_ns && journey->end <= PATH_UNFINISHED && path_outlasts(head, journey, f->end_ns))
		return;
	if (f->spills && journey->end == PATH_SPILLED) {
		path_spilled_add(&f->spilled, head, journey);
	} else if (f->spills && (journey->end == PATH_READ || journey->end == PATH_CLOSED)) {
		struct path_read_event read = {.head = *head, .as_journey = *journey};

		path_spilled_read(&f->spilled, &read, on_finished, f);
	} else {
		f->next.event(f->next.context, f->request, record);
	}
}

static void stop(void *state)
{
	struct finishing *f = state;

	f->end_ns = clock_real_ns();
}

static void end(void *state, bool pass)
{
	struct finishing *f = state;

	if (pass)
		path_spilled_end(&f->spilled, on_finished, f);
	path_spilled_done(&f->spilled);
	free(f);
}

const struct event_finisher path_finisher = {begin, on_event, stop, end};
