/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/agent_lives.h"

#include "base/clock.h"

/* The agent wakes up once in this time while connections end; the buffer holds 5,000 of them. */
#define READ_NS      (500 * NSEC_PER_MSEC)
#define BUFFER_BYTES ((uint64_t)1 << 20)

static int take(struct run_sink *sink, struct run *run _unused_, const void *item)
{
	struct agent_lives *lives = (struct agent_lives *)sink;
	const struct run_event *event = item;

	traffic_minutes_life(lives->minutes, event->record->parts[EVENT_PART_HEAD],
			     event->record->parts[EVENT_PART_DATA]);
	return 0;
}

static int end(struct run_sink *sink, struct run *run)
{
	return run_stored(run, agent_lives_note_loss((struct agent_lives *)sink, run->store));
}

static void close_lives(struct run_sink *sink)
{
	trace_plan_done(&((struct agent_lives *)sink)->plan);
}

static const struct run_sink_ops lives_ops = {.take = take, .end = end, .close = close_lives};

void agent_lives_init(struct agent_lives *lives, struct run *run, const char *netns, unsigned rate,
		      struct traffic_minutes *minutes)
{
	*lives = (struct agent_lives){
		.sink.ops = &lives_ops,
		.plan = {.name = "agent",
			 .events = {"tcp.close"},
			 .where = BUF_INIT(65536),
			 .silent = true,
			 .keep_rate = rate},
		.options = {.netns = netns, .buffer_bytes = BUFFER_BYTES},
		.minutes = minutes,
	};
	if (rate == 0)
		return;
	run_events_init(&lives->events, run, &lives->options);
	lives->events.read_ns = READ_NS;
	lives->events.without = "ends of connections are not recorded";
	run_events_add(&lives->events, &lives->session, &lives->plan, &lives->options);
	run_add_sink(run, &lives->events.source, &lives->sink);
}

int agent_lives_note_loss(struct agent_lives *lives, struct store *store)
{
	uint64_t left_out = lives->session.session.left_out, more = left_out - lives->noted;

	lives->noted = left_out;
	return more ? store_add_loss(store, "tcp.close", more) : 0;
}
