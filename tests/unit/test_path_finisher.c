/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Half-finished journeys from the kernel, on their way to the event sinks. */
#include <string.h>

#include "event/path/path_finisher.h"
#include "event/path/path_steps.h"
#include "unit.h"

#define COOKIE 7
#define SPAN   1000u /* duration of each journey when it was handed over */

struct reported {
	unsigned count;
	unsigned request;
	struct path_event last;
};

static void on_event(void *context, unsigned request, struct record *record)
{
	struct reported *reported = context;

	reported->count++;
	reported->request = request;
	memcpy(&reported->last.head, record->parts[EVENT_PART_HEAD], sizeof(reported->last.head));
	memcpy(&reported->last.data, record->parts[EVENT_PART_DATA], sizeof(reported->last.data));
}

static void hand_over(void *state, const struct event_head *head, const void *data)
{
	struct record record = {.parts = {[EVENT_PART_HEAD] = head, [EVENT_PART_DATA] = data}};

	path_finisher.event(state, &record);
}

/* A datagram queued for a socket at that nanosecond. */
static void spill(void *state, uint64_t at)
{
	struct path_event e = {.head = {.cookie = COOKIE, .time_ns = at - SPAN},
			       .data = {.end = PATH_SPILLED,
					.total_ns = at,
					.step_count = 1,
					.steps = {{.stage = PATH_IP, .ns = SPAN}}}};

	hand_over(state, &e.head, &e.data);
}

/* The next datagram of the socket is read by a thread that was busy until then. */
static void read_at(void *state, uint64_t at, uint32_t pid)
{
	struct path_read_event e = {.head = {.cookie = COOKIE, .pid = pid}};

	e.end = PATH_READ;
	e.info.now.ns = at;
	hand_over(state, &e.head, &e.as_journey);
}

TEST(what_waits_is_reported_when_it_is_read)
{
	struct reported reported = {};
	const struct event_sink next = {.event = on_event, .context = &reported};
	void *state = path_finisher.begin(1, true, &next);

	spill(state, 10000);
	spill(state, 20000);
	CHECK_EQ_INT(reported.count, 0);
	read_at(state, 50000, 4711);
	CHECK_EQ_INT(reported.count, 1);
	CHECK_EQ_INT(reported.request, 1);
	CHECK_EQ_INT(reported.last.data.end, PATH_DELIVERED);
	CHECK_EQ_INT(reported.last.data.socket_ns, 40000);
	CHECK_EQ_INT(reported.last.data.total_ns, 40000 + SPAN);
	CHECK_EQ_INT(reported.last.head.pid, 4711);
	/* The other one was never read. */
	path_finisher.end(state, true);
	CHECK_EQ_INT(reported.count, 2);
	CHECK_EQ_INT(reported.last.data.end, PATH_UNFINISHED);
	CHECK_EQ_INT(reported.last.data.total_ns, SPAN);
}

TEST(everything_else_passes_through)
{
	struct reported reported = {};
	const struct event_sink next = {.event = on_event, .context = &reported};
	void *state = path_finisher.begin(1, true, &next), *whole = path_finisher.begin(0, false, &next);
	struct path_event e = {.head = {.time_ns = 1}, .data = {.end = PATH_DELIVERED, .total_ns = 77}};

	hand_over(state, &e.head, &e.data);
	CHECK_EQ_INT(reported.count, 1);
	CHECK_EQ_INT(reported.last.data.total_ns, 77);
	/* Without spilling enabled nothing is held back. */
	e.data.end = PATH_SPILLED;
	hand_over(whole, &e.head, &e.data);
	CHECK_EQ_INT(reported.count, 2);
	CHECK_EQ_INT(reported.request, 0);
	path_finisher.end(state, true);
	path_finisher.end(whole, true);
	CHECK_EQ_INT(reported.count, 2);
}

TEST(what_was_not_seen_well_at_the_end_is_left_out)
{
	struct reported reported = {};
	const struct event_sink next = {.event = on_event, .context = &reported};
	void *state = path_finisher.begin(0, false, &next);
	struct path_event e = {.head = {.time_ns = 1}, .data = {.end = PATH_DELIVERED, .total_ns = 77}};

	path_finisher.stop(state);
	hand_over(state, &e.head, &e.data);
	CHECK_EQ_INT(reported.count, 1);
	e.head.time_ns = UINT64_MAX / 2;
	hand_over(state, &e.head, &e.data);
	CHECK_EQ_INT(reported.count, 1);
	path_finisher.end(state, false);
}
