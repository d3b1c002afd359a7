/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/loop.h"
#include "unit.h"

#define MS UINT64_C(1000000)

/* Shared by the callbacks of a test. */
struct state {
	struct loop *loop;
	struct loop_source *source, *other;
	unsigned calls, other_calls, idle_calls;
	uint64_t expirations;
	uint32_t events;
	int signal_number;
	int fd;
};

static void start(struct state *s)
{
	*s = (struct state){.fd = -1};
	REQUIRE(loop_new(&s->loop) == 0);
}

static void stop_timer(void *context, uint64_t expirations _unused_)
{
	struct state *s = context;

	s->calls++;
	loop_stop(s->loop, 42);
}

TEST(a_loop_returns_what_stopped_it)
{
	struct state s;

	start(&s);
	CHECK_OK(loop_add_timer(s.loop, 0, 0, stop_timer, &s, NULL));
	CHECK_EQ_INT(loop_run(s.loop), 42);
	CHECK_EQ_UINT(s.calls, 1);
	/* It can run again. */
	CHECK_OK(loop_add_timer(s.loop, 1 * MS, 0, stop_timer, &s, NULL));
	CHECK_EQ_INT(loop_run(s.loop), 42);
	CHECK_EQ_UINT(s.calls, 2);
	loop_free(s.loop);
}

TEST(freeing_nothing_and_unused_sources)
{
	struct state s;
	struct loop *none = NULL;

	loop_free(NULL);
	loop_freep(&none);
	start(&s);
	CHECK_OK(loop_add_timer(s.loop, 1000 * MS, 0, stop_timer, &s, &s.source));
	loop_remove(s.loop, s.source);
	loop_remove(s.loop, s.source);
	loop_remove(s.loop, NULL);
	CHECK_OK(loop_add_timer(s.loop, 1000 * MS, 0, stop_timer, &s, NULL));
	loop_free(s.loop);
}

TEST(a_timer_is_not_early)
{
	struct state s;
	uint64_t before = clock_monotonic_ns();

	start(&s);
	CHECK_OK(loop_add_timer(s.loop, 30 * MS, 0, stop_timer, &s, NULL));
	CHECK_EQ_INT(loop_run(s.loop), 42);
	CHECK(clock_monotonic_ns() - before >= 30 * MS);
	loop_free(s.loop);
}

static void count_to_five(void *context, uint64_t expirations)
{
	struct state *s = context;

	s->calls++;
	s->expirations += expirations;
	if (s->expirations >= 5)
		loop_stop(s->loop, 0);
}

TEST(an_interval_repeats)
{
	struct state s;
	uint64_t before = clock_monotonic_ns();

	start(&s);
	CHECK_OK(loop_add_timer(s.loop, 5 * MS, 5 * MS, count_to_five, &s, NULL));
	CHECK_EQ_INT(loop_run(s.loop), 0);
	CHECK(s.expirations >= 5);
	CHECK(clock_monotonic_ns() - before >= 25 * MS);
	loop_free(s.loop);
}

static void oversleep(void *context, uint64_t expirations)
{
	struct state *s = context;
	uint64_t until = clock_monotonic_ns() + 50 * MS;

	s->calls++;
	s->expirations = expirations;
	if (s->calls == 2)
		loop_stop(s->loop, 0);
	while (clock_monotonic_ns() < until)
		;
}

/* A slow callback gets the number of missed ticks instead of a call for each. */
TEST(missed_ticks_are_counted)
{
	struct state s;

	start(&s);
	CHECK_OK(loop_add_timer(s.loop, 1 * MS, 5 * MS, oversleep, &s, NULL));
	CHECK_EQ_INT(loop_run(s.loop), 0);
	CHECK(s.expirations >= 9);
	loop_free(s.loop);
}

static void count_only(void *context, uint64_t expirations _unused_)
{
	((struct state *)context)->other_calls++;
}

TEST(a_timer_without_interval_fires_once)
{
	struct state s;

	start(&s);
	CHECK_OK(loop_add_timer(s.loop, 1 * MS, 0, count_only, &s, NULL));
	CHECK_OK(loop_add_timer(s.loop, 40 * MS, 0, stop_timer, &s, NULL));
	CHECK_EQ_INT(loop_run(s.loop), 42);
	CHECK_EQ_UINT(s.other_calls, 1);
	loop_free(s.loop);
}

static void read_one(void *context, uint32_t events)
{
	struct state *s = context;
	char c;

	s->events = events;
	if (read(s->fd, &c, 1) == 1)
		s->calls++;
	if (s->calls == 3)
		loop_stop(s->loop, 3);
}

/* Level-triggered: as long as something is left to read, it is called again. */
TEST(a_descriptor_is_reported_while_it_is_ready)
{
	struct state s;
	int ends[2];

	start(&s);
	REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
	s.fd = ends[0];
	CHECK_OK(loop_add_fd(s.loop, ends[0], EPOLLIN, read_one, &s, NULL));
	REQUIRE(write(ends[1], "abc", 3) == 3);
	CHECK_EQ_INT(loop_run(s.loop), 3);
	CHECK(s.events & EPOLLIN);
	loop_free(s.loop);
	/* The descriptor stays the caller's. */
	CHECK(fcntl(ends[0], F_GETFD) >= 0);
	close(ends[0]);
	close(ends[1]);
}

static void on_hangup(void *context, uint32_t events)
{
	struct state *s = context;

	s->events = events;
	loop_stop(s->loop, 1);
}

TEST(a_closed_pipe_hangs_up)
{
	struct state s;
	int ends[2];

	start(&s);
	REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
	CHECK_OK(loop_add_fd(s.loop, ends[0], EPOLLIN, on_hangup, &s, NULL));
	close(ends[1]);
	CHECK_EQ_INT(loop_run(s.loop), 1);
	CHECK(s.events & EPOLLHUP);
	loop_free(s.loop);
	close(ends[0]);
}

TEST(what_cannot_be_watched_is_refused)
{
	struct state s;

	start(&s);
	CHECK_ERR(loop_add_fd(s.loop, -1, EPOLLIN, on_hangup, &s, NULL), -EBADF);
	CHECK_ERR(loop_add_fd(s.loop, 9999, EPOLLIN, on_hangup, &s, NULL), -EBADF);
	CHECK_ERR(loop_add_signal(s.loop, 0, NULL, &s), -EINVAL);
	CHECK_ERR(loop_add_signal(s.loop, -5, NULL, &s), -EINVAL);
	CHECK_ERR(loop_add_signal(s.loop, 4711, NULL, &s), -EINVAL);
	loop_free(s.loop);
}

static void remove_both(void *context, uint32_t events _unused_)
{
	struct state *s = context;

	s->calls++;
	loop_remove(s->loop, s->source);
	loop_remove(s->loop, s->other);
}

/* Two sources are ready in one batch; the first callback removes both, so the other must no longer be called. */
TEST(a_callback_removes_itself_and_its_neighbour)
{
	struct state s;
	int one[2], two[2];

	start(&s);
	REQUIRE(pipe2(one, O_CLOEXEC) == 0 && pipe2(two, O_CLOEXEC) == 0);
	CHECK_OK(loop_add_fd(s.loop, one[0], EPOLLIN, remove_both, &s, &s.source));
	CHECK_OK(loop_add_fd(s.loop, two[0], EPOLLIN, remove_both, &s, &s.other));
	REQUIRE(write(one[1], "x", 1) == 1 && write(two[1], "x", 1) == 1);
	CHECK_OK(loop_add_timer(s.loop, 20 * MS, 0, stop_timer, &s, NULL));
	CHECK_EQ_INT(loop_run(s.loop), 42);
	CHECK_EQ_UINT(s.calls, 2); /* one removal, one timer */
	loop_free(s.loop);
	close(one[0]);
	close(one[1]);
	close(two[0]);
	close(two[1]);
}

static void remove_self(void *context, uint64_t expirations _unused_)
{
	struct state *s = context;

	s->other_calls++;
	loop_remove(s->loop, s->source);
}

TEST(a_repeating_timer_removes_itself)
{
	struct state s;

	start(&s);
	CHECK_OK(loop_add_timer(s.loop, 1 * MS, 1 * MS, remove_self, &s, &s.source));
	CHECK_OK(loop_add_timer(s.loop, 30 * MS, 0, stop_timer, &s, NULL));
	CHECK_EQ_INT(loop_run(s.loop), 42);
	CHECK_EQ_UINT(s.other_calls, 1);
	loop_free(s.loop);
}

static void chain(void *context, uint64_t expirations _unused_)
{
	struct state *s = context;

	if (++s->calls == 100) {
		loop_stop(s->loop, 0);
		return;
	}
	loop_remove(s->loop, s->source);
	CHECK_OK(loop_add_timer(s->loop, 0, 0, chain, s, &s->source));
}

TEST(callbacks_add_and_remove_sources)
{
	struct state s;

	start(&s);
	CHECK_OK(loop_add_timer(s.loop, 0, 0, chain, &s, &s.source));
	CHECK_EQ_INT(loop_run(s.loop), 0);
	CHECK_EQ_UINT(s.calls, 100);
	loop_free(s.loop);
}

static void on_signal(void *context, int signal_number)
{
	struct state *s = context;

	s->calls++;
	s->signal_number = signal_number;
	loop_stop(s->loop, 9);
}

/* Without the check for ignored signals the hangup would come first: a blocked signal still reaches a signalfd. */
TEST(a_hangup_ends_a_run_unless_it_is_ignored)
{
	struct state s;

	start(&s);
	REQUIRE(signal(SIGHUP, SIG_IGN) != SIG_ERR);
	CHECK_OK(loop_add_end_signals(s.loop, on_signal, &s));
	REQUIRE(raise(SIGHUP) == 0);
	REQUIRE(raise(SIGINT) == 0);
	CHECK_EQ_INT(loop_run(s.loop), 9);
	CHECK_EQ_INT(s.signal_number, SIGINT);
	CHECK_EQ_UINT(s.calls, 1);
	REQUIRE(signal(SIGHUP, SIG_DFL) != SIG_ERR);
	CHECK_OK(loop_add_end_signals(s.loop, on_signal, &s));
	REQUIRE(raise(SIGHUP) == 0);
	CHECK_EQ_INT(loop_run(s.loop), 9);
	CHECK_EQ_INT(s.signal_number, SIGHUP);
	loop_free(s.loop);
}

TEST(a_signal_arrives_as_a_call)
{
	struct state s;

	start(&s);
	CHECK_OK(loop_add_signal(s.loop, SIGUSR1, on_signal, &s));
	CHECK_OK(loop_add_signal(s.loop, SIGTERM, on_signal, &s));
	REQUIRE(raise(SIGTERM) == 0);
	CHECK_EQ_INT(loop_run(s.loop), 9);
	CHECK_EQ_INT(s.signal_number, SIGTERM);
	REQUIRE(kill(getpid(), SIGUSR1) == 0);
	CHECK_EQ_INT(loop_run(s.loop), 9);
	CHECK_EQ_INT(s.signal_number, SIGUSR1);
	CHECK_EQ_UINT(s.calls, 2);
	loop_free(s.loop);
}

TEST(a_child_is_seen_ending)
{
	struct state s;
	int status;
	pid_t pid;

	start(&s);
	CHECK_OK(loop_add_signal(s.loop, SIGCHLD, on_signal, &s));
	pid = fork();
	if (pid == 0)
		_exit(5);
	CHECK_EQ_INT(loop_run(s.loop), 9);
	CHECK_EQ_INT(waitpid(pid, &status, 0), pid);
	CHECK_EQ_INT(WEXITSTATUS(status), 5);
	loop_free(s.loop);
}

static void on_idle(void *context)
{
	struct state *s = context;

	if (++s->idle_calls == 3)
		loop_stop(s->loop, 33);
}

TEST(idle_is_called_before_each_sleep)
{
	struct state s;

	start(&s);
	loop_on_idle(s.loop, on_idle, &s);
	CHECK_OK(loop_add_timer(s.loop, 1 * MS, 1 * MS, count_only, &s, NULL));
	CHECK_EQ_INT(loop_run(s.loop), 33);
	CHECK_EQ_UINT(s.idle_calls, 3);
	CHECK_EQ_UINT(s.other_calls, 2);
	loop_free(s.loop);
}

/* Adding and removing sources must not leak descriptors. */
TEST(nothing_leaks)
{
	int before, after;
	struct state s;

	before = dup(0);
	close(before);
	for (int i = 0; i < 2000; i++) {
		start(&s);
		CHECK_OK(loop_add_timer(s.loop, 0, 0, stop_timer, &s, NULL));
		CHECK_OK(loop_add_timer(s.loop, 1000 * MS, 0, stop_timer, &s, &s.source));
		loop_remove(s.loop, s.source);
		CHECK_EQ_INT(loop_run(s.loop), 42);
		loop_free(s.loop);
	}
	after = dup(0);
	close(after);
	CHECK_EQ_INT(after, before);
}
