/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Journeys that wait in sockets, and the sampling rate: the user space part. */
#include <math.h>
#include <string.h>

#include "event/path/path_finisher.h"
#include "event/path/path_spilled.h"
#include "path/journey/journey_event.h"
#include "path/source/cost_limit.h"
#include "path/source/journey_source.h"
#include "unit.h"

#define START_NS 1000000

struct reported {
	unsigned count;
	struct path_event last;
};

static void tell(void *context, const struct event_head *head, const struct path_journey *journey)
{
	struct reported *reported = context;

	reported->count++;
	reported->last = (struct path_event){.head = *head, .data = *journey};
}

/* A journey of 500 ns up to its socket. */
static void add(struct path_spilled *spilled, uint64_t cookie, uint32_t end_seq)
{
	struct event_head head = {.cookie = cookie, .time_ns = 77};
	struct path_journey journey = {.end = PATH_SPILLED,
				       .end_seq = end_seq,
				       .total_ns = START_NS + 500,
				       .step_count = 1,
				       .steps = {{.ns = 500, .stage = PATH_IP}}};

	path_spilled_add(spilled, &head, &journey);
}

static uint64_t spent(const struct reported *reported, enum path_stage stage)
{
	uint64_t ns = 0;

	for (unsigned i = 0; i < reported->last.data.step_count; i++)
		if (reported->last.data.steps[i].stage == stage)
			ns += reported->last.data.steps[i].ns;
	return ns;
}

static struct path_read_event read_at(uint64_t cookie, uint64_t ns, uint32_t copied)
{
	struct path_read_event read = {.head = {.cookie = cookie, .pid = 4711, .comm = "reader"}};

	read.info = (struct path_read){.now = {.ns = ns, .note = PATH_NO_NOTE, .context = PATH_PROCESS},
				       .task = {.tid = 4712},
				       .copied = copied,
				       .is_tcp = copied != 0,
				       .sees_calls = 1};
	return read;
}

TEST(tcp_is_read_by_its_numbers)
{
	struct path_read_event read = read_at(5, START_NS + 9000, 200);
	struct reported reported = {};
	struct path_spilled spilled;

	path_spilled_init(&spilled);
	/* Sequence numbers wrap around. */
	add(&spilled, 5, 0xfffffff0);
	add(&spilled, 5, 200);
	add(&spilled, 5, 201);
	add(&spilled, 6, 100);
	read.info.task.copy_ns = START_NS + 8000;
	path_spilled_read(&spilled, &read, tell, &reported);
	CHECK_EQ_UINT(reported.count, 2);
	CHECK_EQ_UINT(reported.last.data.end, PATH_DELIVERED);
	CHECK_EQ_UINT(reported.last.head.pid, 4711);
	CHECK_EQ_TEXT(reported.last.head.comm, "reader");
	CHECK_EQ_UINT(reported.last.data.total_ns, 9000);
	CHECK_EQ_UINT(spent(&reported, PATH_SOCKET), 7500);
	CHECK_EQ_UINT(spent(&reported, PATH_COPY), 1000);
	CHECK(reported.last.data.hidden & 1u << PATH_RETURN);
	path_spilled_end(&spilled, tell, &reported);
	CHECK_EQ_UINT(reported.count, 4);
	CHECK_EQ_UINT(reported.last.data.end, PATH_UNFINISHED);
	CHECK_EQ_UINT(reported.last.data.total_ns, 500);
	CHECK_EQ_UINT(spilled.count, 0);
	path_spilled_done(&spilled);
}

TEST(datagrams_are_read_in_their_order)
{
	struct path_read_event read = read_at(5, START_NS + 9000, 0);
	struct reported reported = {};
	struct path_spilled spilled;

	path_spilled_init(&spilled);
	add(&spilled, 5, 1);
	add(&spilled, 5, 2);
	path_spilled_read(&spilled, &read, tell, &reported);
	CHECK_EQ_UINT(reported.count, 1);
	CHECK_EQ_UINT(reported.last.data.end_seq, 1);
	/* The start of the copy was not seen. */
	CHECK_EQ_UINT(spent(&reported, PATH_SOCKET), 8500);
	CHECK(reported.last.data.hidden & 1u << PATH_COPY);
	path_spilled_read(&spilled, &read, tell, &reported);
	CHECK_EQ_UINT(reported.last.data.end_seq, 2);
	path_spilled_read(&spilled, &read, tell, &reported);
	CHECK_EQ_UINT(reported.count, 2);
	path_spilled_done(&spilled);
}

TEST(a_reader_that_was_woken_waits_for_a_processor)
{
	struct path_read_event read = read_at(5, START_NS + 9000, 0);
	struct reported reported = {};
	struct path_spilled spilled;

	read.info.task.state = RX_TASK_RUNS;
	read.info.task.waking_ns = START_NS + 600;
	read.info.task.wakeup_ns = START_NS + 700;
	read.info.task.switch_ns = START_NS + 5700;
	read.info.task.ahead = 3;
	read.info.for_sock = 1;
	path_spilled_init(&spilled);
	add(&spilled, 5, 1);
	path_spilled_read(&spilled, &read, tell, &reported);
	CHECK_EQ_UINT(spent(&reported, PATH_WAKEUP), 200);
	CHECK_EQ_UINT(spent(&reported, PATH_SCHED), 5000);
	CHECK_EQ_UINT(spent(&reported, PATH_COPY), 3300);
	CHECK_EQ_UINT(spent(&reported, PATH_SOCKET), 0);
	CHECK_EQ_UINT(reported.last.data.total_ns, 9000);
	/* The reader had to leave another call first: the data waited for it. */
	read.info.task.returned = 1;
	read.info.for_sock = 0;
	add(&spilled, 5, 1);
	path_spilled_read(&spilled, &read, tell, &reported);
	CHECK_EQ_UINT(spent(&reported, PATH_SOCKET), 100 + 3300);
	CHECK_EQ_UINT(spent(&reported, PATH_WAKEUP), 100);
	CHECK_EQ_UINT(spent(&reported, PATH_SCHED), 5000);
	CHECK_EQ_UINT(reported.last.data.total_ns, 9000);
	path_spilled_done(&spilled);
}

TEST(a_reader_that_waits_several_times)
{
	struct path_read_event read = read_at(5, START_NS + 9000, 0);
	struct reported reported = {};
	struct path_spilled spilled;

	read.info.task.state = RX_TASK_RUNS;
	read.info.task.waking_ns = START_NS + 7000;
	read.info.task.wakeup_ns = START_NS + 7000;
	read.info.task.switch_ns = START_NS + 8000;
	/* Unordered; the other one was over before the data arrived. */
	read.info.task.before[0] =
		(struct rx_wait){.waking_ns = START_NS + 1000, .switch_ns = START_NS + 4000, .ahead = 2};
	read.info.task.before[1] =
		(struct rx_wait){.waking_ns = START_NS + 100, .switch_ns = START_NS + 300, .ahead = 9};
	path_spilled_init(&spilled);
	add(&spilled, 5, 1);
	path_spilled_read(&spilled, &read, tell, &reported);
	CHECK_EQ_UINT(spent(&reported, PATH_SCHED), 3000 + 1000);
	CHECK_EQ_UINT(spent(&reported, PATH_SOCKET), 500 + 3000);
	CHECK_EQ_UINT(reported.last.data.steps[2].note, 2);
	CHECK_EQ_UINT(reported.last.data.total_ns, 9000);
	/* Two of them, and the data itself woke it last: it ran before. */
	read.info.task.before[1] =
		(struct rx_wait){.waking_ns = START_NS + 5000, .switch_ns = START_NS + 6000, .ahead = 1};
	read.info.for_sock = 1;
	add(&spilled, 5, 1);
	path_spilled_read(&spilled, &read, tell, &reported);
	CHECK_EQ_UINT(spent(&reported, PATH_SCHED), 3000 + 1000 + 1000);
	CHECK_EQ_UINT(spent(&reported, PATH_SOCKET), 500 + 1000 + 1000);
	CHECK_EQ_UINT(spent(&reported, PATH_WAKEUP), 0);
	CHECK_EQ_UINT(reported.last.data.total_ns, 9000);
	path_spilled_done(&spilled);
}

TEST(clocks_that_differ_make_no_stage_negative)
{
	struct path_counts counts = {};
	struct path_way way = {.last_ns = 1000};

	path_step(&way, PATH_IP, &(struct path_mark){.ns = 900}, &counts);
	path_step(&way, PATH_TRANSPORT, &(struct path_mark){.ns = 1100}, &counts);
	CHECK_EQ_UINT(way.event.data.steps[0].ns, 0);
	CHECK_EQ_UINT(way.event.data.steps[1].ns, 100);
	CHECK_EQ_UINT(counts.clamped, 1);
	for (unsigned i = 0; i < 3 * PATH_STEPS_MAX; i++)
		path_step(&way, PATH_IP, &(struct path_mark){.ns = 1100}, &counts);
	CHECK(way.event.data.step_count < PATH_STEPS_MAX);
}

TEST(stages_of_a_journey_follow_each_other)
{
	struct path_journey data = {.end = PATH_DROPPED,
				    .reason = 7,
				    .total_ns = 30,
				    .hidden = 1u << PATH_FILTER | 1u << PATH_RETURN,
				    .step_count = 2,
				    .steps = {{.ns = 10, .stage = PATH_IP}, {.ns = 20, .stage = PATH_FILTER}}};
	struct event_head head = {.time_ns = 1000};
	struct journey journey;

	journey_from_event(&head, &data, &journey);
	CHECK_EQ_UINT(journey.stage_count, 2);
	CHECK_EQ_UINT(journey.stages[0].start_ns, 1000);
	CHECK_EQ_UINT(journey.stages[1].start_ns, 1010);
	CHECK_EQ_UINT(journey.reason, 7);
	/* Traced stages are not hidden. */
	CHECK_EQ_UINT(journey.hidden, 1u << PATH_RETURN);
	data.step_count = 255;
	journey_from_event(&head, &data, &journey);
	CHECK_EQ_UINT(journey.stage_count, PATH_STEPS_MAX);
}

TEST(journeys_and_events_say_the_same)
{
	struct path_journey data = {.end = PATH_DELIVERED,
				    .dir = PACKET_RX,
				    .bytes = 566,
				    .seq = 5,
				    .end_seq = 9,
				    .total_ns = 60,
				    .reader = 812,
				    .hidden = 1u << PATH_RETURN,
				    .dev = "eth0",
				    .step_count = 3,
				    .steps = {{.ns = 10, .stage = PATH_SCHED, .cpu = 1, .note = 3},
					      {.ns = 20, .stage = PATH_SCHED, .cpu = 2},
					      {.ns = 30, .stage = PATH_SOCKET, .cpu = 4, .context = PATH_PROCESS}}};
	struct event_head head = {.time_ns = 1000, .pid = 811, .tid = 812, .lport = 80, .uid = 7, .comm = "nginx"};
	struct shape shape = journey_event_shape();
	struct journey_event event;
	struct journey journey = {}, again = {};
	struct field_ref ref;

	journey_from_event(&head, &data, &journey);
	journey_to_event(&journey, &event);
	journey_from_event(&event.head, &event.data, &again);
	CHECK(memcmp(&journey, &again, sizeof(journey)) == 0);
	CHECK_EQ_UINT(event.data.sched_ns, 30);
	CHECK_EQ_UINT(event.data.reader, 812);
	CHECK_EQ_UINT(event.head.cpu, 4);
	REQUIRE(shape_find(&shape, "socket_ns", &ref) == 0);
	CHECK_EQ_UINT(record_get(&event.record, ref).uint, 30);
	/* Unknown fields of a packet cannot be filtered. */
	CHECK(shape_find(&shape, "container", &ref) < 0);
	journey.stage_count = 0;
	journey_to_event(&journey, &event);
	CHECK_EQ_UINT(event.head.cpu, EVENT_UNKNOWN32);
}

TEST(what_goes_on_when_hooks_go_away_is_known)
{
	struct path_journey data = {.total_ns = 30, .step_count = 2, .steps = {{.ns = 10}, {.ns = 20}}};
	struct event_head head = {.time_ns = 1000};

	/* Its last stage started at 1010. */
	CHECK(!path_outlasts(&head, &data, 1030));
	CHECK(!path_outlasts(&head, &data, 1010));
	CHECK(path_outlasts(&head, &data, 1009));
	data.step_count = 0;
	CHECK(path_outlasts(&head, &data, 1000));
	CHECK(!path_outlasts(&head, &data, 1030));
}

TEST(fewer_flows_when_it_costs_too_much)
{
	CHECK_EQ_UINT(cost_limit_next(0, 0, 0.10, NAN, 0.05), 2);
	CHECK_EQ_UINT(cost_limit_next(2, 0, 0.10, NAN, 0.05), 4);
	/* The higher the cost, the fewer flows; but not from a single measurement. */
	CHECK_EQ_UINT(cost_limit_next(2, 0, 0.17, NAN, 0.05), 8);
	CHECK_EQ_UINT(cost_limit_next(2, 0, 5, NAN, 0.05), 16);
	CHECK_EQ_UINT(cost_limit_next(4, 0, 0.04, NAN, 0.05), 4);
	CHECK_EQ_UINT(cost_limit_next(4, 0, 0.01, NAN, 0.05), 2);
	CHECK_EQ_UINT(cost_limit_next(1, 0, 0.01, NAN, 0.05), 1);
	/* Never more than requested. */
	CHECK_EQ_UINT(cost_limit_next(64, 64, 0.001, NAN, 0.05), 64);
	/* Hardly any flow is followed, and the cost is unchanged: other packets cause it. */
	CHECK_EQ_UINT(cost_limit_next(64, 0, 0.09, 0.095, 0.05), 64);
	CHECK_EQ_UINT(cost_limit_next(64, 0, 0.09, 0.15, 0.05), 128);
	CHECK_EQ_UINT(cost_limit_next(32, 0, 0.09, 0.095, 0.05), 64);
	CHECK_EQ_UINT(cost_limit_next(65536, 0, 0.9, NAN, 0.05), 65536);
}
