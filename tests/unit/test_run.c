/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A run with a source and sinks that only count. */
#include <errno.h>
#include <signal.h>

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "run/run.h"
#include "unit.h"

struct fake_source {
	struct run_source source;
	struct run *run;
	unsigned items; /* so many and no more; 0: without end */
	unsigned handed;
	unsigned finished, closed;
	int open_result;
	uint64_t lost;
	int raised; /* a signal with the first item */
};

struct fake_sink {
	struct run_sink sink;
	unsigned seen, intervals, ended, closed;
	unsigned sum;
	unsigned enough_at; /* 0: never */
	unsigned fail_at;
	int prepared;
	struct out text;
};

static int fake_give(struct run_source *source, struct run *run)
{
	struct fake_source *fake = (struct fake_source *)source;

	fake->handed++;
	run_hand_out(run, source, &fake->handed);
	return 0;
}

static int fake_next(struct run_source *source, struct run *run, uint64_t *ret_ns)
{
	const struct fake_source *fake = (struct fake_source *)source;

	(void)run;
	*ret_ns = (fake->handed + 1) * NSEC_PER_SEC;
	return fake->handed < fake->items;
}

static void on_time(void *context, uint64_t expirations _unused_)
{
	struct fake_source *fake = context;

	if (fake->raised)
		raise(fake->raised);
	if (!fake->items || fake->handed < fake->items)
		(void)fake_give(&fake->source, fake->run);
}

static int fake_open(struct run_source *source, struct run *run)
{
	struct fake_source *fake = (struct fake_source *)source;

	if (fake->open_result < 0)
		return why_set(&run->why, fake->open_result, "there is nothing here");
	return run->loop ? loop_add_timer(run->loop, 0, 1000 * 1000, on_time, fake, NULL) : 0;
}

static int fake_finish(struct run_source *source, struct run *run)
{
	struct fake_source *fake = (struct fake_source *)source;

	fake->finished++;
	/* What was left is still handed out. */
	return fake_give(source, run);
}

static void fake_account(struct run_source *source, struct run *run, struct run_account *account)
{
	(void)run;
	account->lost += ((struct fake_source *)source)->lost;
}

static void fake_close(struct run_source *source)
{
	((struct fake_source *)source)->closed++;
}

static const struct run_source_ops source_ops = {.open = fake_open,
						 .next = fake_next,
						 .give = fake_give,
						 .finish = fake_finish,
						 .account = fake_account,
						 .close = fake_close};

static int sink_prepare(struct run_sink *sink, struct run *run)
{
	int r = ((struct fake_sink *)sink)->prepared;

	return r < 0 ? why_set(&run->why, r, "that cannot be") : 0;
}

static int sink_take(struct run_sink *sink, struct run *run, const void *item)
{
	struct fake_sink *fake = (struct fake_sink *)sink;

	fake->seen++;
	fake->sum += *(const unsigned *)item;
	if (fake->seen == fake->fail_at)
		return why_set(&run->why, -EIO, "item %u is broken", fake->seen);
	return fake->seen == fake->enough_at;
}

static void sink_interval(struct run_sink *sink, struct run *run, uint64_t now_ns)
{
	(void)run;
	CHECK(now_ns > 0);
	((struct fake_sink *)sink)->intervals++;
}

static int sink_end(struct run_sink *sink, struct run *run)
{
	(void)run;
	((struct fake_sink *)sink)->ended++;
	return 0;
}

static void sink_close(struct run_sink *sink)
{
	((struct fake_sink *)sink)->closed++;
}

static const struct run_sink_ops sink_ops = {
	.prepare = sink_prepare, .take = sink_take, .interval = sink_interval, .end = sink_end, .close = sink_close};

struct fake {
	struct run run;
	struct fake_source source;
	struct fake_sink one, other;
};

static int carry_out(struct fake *fake)
{
	fake->run.options.name = "fake";
	fake->source.source.ops = &source_ops;
	fake->source.run = &fake->run;
	fake->one.sink.ops = fake->other.sink.ops = &sink_ops;
	fake->one.sink.out = &fake->one.text;
	fake->other.sink.out = &fake->other.text;
	run_add_source(&fake->run, &fake->source.source);
	run_add_sink(&fake->run, &fake->source.source, &fake->one.sink);
	run_add_sink(&fake->run, &fake->source.source, &fake->other.sink);
	log_set_level(LOG_LEVEL_QUIET);
	return run_carry_out(&fake->run);
}

/* However it ends, everything is closed once. */
static void check_closed(const struct fake *fake)
{
	CHECK_EQ_UINT(fake->source.closed, 1);
	CHECK_EQ_UINT(fake->one.closed, 1);
	CHECK_EQ_UINT(fake->other.closed, 1);
}

TEST(both_sinks_see_everything_until_the_time_is_over)
{
	struct fake fake = {.run.options.duration_ns = 50 * 1000 * 1000};

	CHECK_EQ_INT(carry_out(&fake), EXIT_DONE);
	CHECK(fake.source.handed > 1);
	CHECK_EQ_UINT(fake.one.seen, fake.source.handed);
	CHECK_EQ_UINT(fake.other.seen, fake.source.handed);
	CHECK_EQ_UINT(fake.one.sum, fake.other.sum);
	CHECK_EQ_UINT(fake.source.finished, 1);
	CHECK_EQ_UINT(fake.one.ended, 1);
	CHECK_EQ_UINT(fake.one.intervals, 1);
	check_closed(&fake);
}

TEST(a_number_of_intervals_ends_it)
{
	struct fake fake = {.run.options = {.interval_ns = 10 * 1000 * 1000, .count = 3}};

	CHECK_EQ_INT(carry_out(&fake), EXIT_DONE);
	CHECK_EQ_UINT(fake.one.intervals, 3);
	CHECK_EQ_UINT(fake.other.intervals, 3);
	check_closed(&fake);
}

TEST(a_sink_that_has_seen_enough_ends_it)
{
	struct fake fake = {.one.enough_at = 4};

	CHECK_EQ_INT(carry_out(&fake), EXIT_DONE);
	/* And one that came when the source was finished. */
	CHECK_EQ_UINT(fake.one.seen, 5);
	CHECK_EQ_UINT(fake.other.seen, 5);
	check_closed(&fake);
}

TEST(an_error_ends_it_and_what_was_seen_is_shown)
{
	struct fake fake = {.other.fail_at = 2};

	CHECK_EQ_INT(carry_out(&fake), EXIT_CANNOT_OBSERVE);
	CHECK_EQ_TEXT(fake.run.why.text, "item 2 is broken");
	CHECK_EQ_UINT(fake.one.ended, 1);
	check_closed(&fake);
}

TEST(what_cannot_be_opened_shows_nothing)
{
	struct fake fake = {.source.open_result = -EPERM};

	CHECK_EQ_INT(carry_out(&fake), EXIT_CANNOT_OBSERVE);
	CHECK_EQ_UINT(fake.source.finished, 0);
	CHECK_EQ_UINT(fake.one.ended, 0);
	check_closed(&fake);
}

TEST(what_the_user_wrote_is_refused_before_anything_is_opened)
{
	struct fake wrong = {.other.prepared = -EINVAL, .source.open_result = -EPERM};
	struct fake full = {.other.prepared = -EIO};
	struct fake both = {.run.options = {.input.file = "a", .save = "b"}};
	struct fake children = {.run.options.children = true};
	struct fake number = {.run.options.max_loss = "few"};

	CHECK_EQ_INT(carry_out(&wrong), EXIT_USAGE);
	CHECK_EQ_INT(carry_out(&full), EXIT_IO);
	CHECK_EQ_INT(carry_out(&both), EXIT_USAGE);
	CHECK_EQ_INT(carry_out(&children), EXIT_USAGE);
	CHECK_EQ_INT(carry_out(&number), EXIT_USAGE);
	check_closed(&wrong);
	check_closed(&number);
}

TEST(losses_count)
{
	struct fake few = {.run.options = {.duration_ns = 1000000, .max_loss = "3"}, .source.lost = 3};
	struct fake many = {.run.options = {.duration_ns = 1000000, .max_loss = "3"}, .source.lost = 4};
	struct fake any = {.run.options.duration_ns = 1000000, .source.lost = 4};

	CHECK_EQ_INT(carry_out(&few), EXIT_DONE);
	CHECK_EQ_INT(carry_out(&many), EXIT_LOSS);
	CHECK_EQ_INT(carry_out(&any), EXIT_DONE);
}

TEST(output_that_fails)
{
	struct fake full = {.run.options.duration_ns = 1000000, .one.text.error = -ENOSPC};
	struct fake gone = {.run.options.duration_ns = 1000000, .other.text.error = -EPIPE};

	CHECK_EQ_INT(carry_out(&full), EXIT_IO);
	CHECK_EQ_INT(carry_out(&gone), EXIT_SIGNAL + SIGPIPE);
	/* Whoever shows nothing any more needs no more items. */
	CHECK(gone.source.handed <= 2);
}

TEST(signals)
{
	struct fake asked = {.source.raised = SIGTERM};
	struct fake early = {.run.options = {.duration_ns = 10 * NSEC_PER_SEC, .ends_itself = true},
			     .source.raised = SIGTERM};
	struct fake gone = {.source.raised = SIGHUP};

	CHECK_EQ_INT(carry_out(&asked), EXIT_DONE);
	CHECK_EQ_INT(carry_out(&early), EXIT_SIGNAL + SIGTERM);
	signal(SIGHUP, SIG_DFL);
	CHECK_EQ_INT(carry_out(&gone), EXIT_SIGNAL + SIGHUP);
}

TEST(a_command_ends_it)
{
	char *words[] = {(char *)"true", NULL}, *none[] = {(char *)"/no/such/command", NULL};
	struct fake fake = {.run.options.command = {1, words}};
	struct fake missing = {.run.options.command = {1, none}};

	CHECK_EQ_INT(carry_out(&fake), EXIT_DONE);
	CHECK_EQ_INT(carry_out(&missing), EXIT_USAGE);
}

/* As of a recording: duration and intervals are those of the items, a second apart. */
TEST(items_that_are_read)
{
	struct fake all = {.run.options = {.once = true, .interval_ns = 2 * NSEC_PER_SEC}, .source.items = 7};
	struct fake some = {.run.options = {.once = true, .duration_ns = 3 * NSEC_PER_SEC}, .source.items = 7};

	CHECK_EQ_INT(carry_out(&all), EXIT_DONE);
	CHECK_EQ_UINT(all.one.seen, 7);
	CHECK_EQ_UINT(all.other.seen, 7);
	CHECK_EQ_UINT(all.one.intervals, 4);
	CHECK_EQ_INT(carry_out(&some), EXIT_DONE);
	CHECK_EQ_UINT(some.one.seen, 4);
	check_closed(&some);
}

/* Two sources, the older item first. */
TEST(items_of_several_sources_come_in_the_order_of_their_times)
{
	struct fake fake = {.run.options.once = true, .source = {.items = 5, .handed = 2}};
	struct fake_source more = {.source.ops = &source_ops, .items = 3, .run = &fake.run};

	run_add_source(&fake.run, &more.source);
	vec_push(&more.source.sinks, &fake.one.sink);
	CHECK_EQ_INT(carry_out(&fake), EXIT_DONE);
	CHECK_EQ_UINT(fake.one.seen, 6);
	CHECK_EQ_UINT(fake.other.seen, 3);
	CHECK_EQ_UINT(fake.run.last_ns, 5 * NSEC_PER_SEC);
}
