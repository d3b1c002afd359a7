/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Faults that come and go: what one window shows has to count in the next ones. */
#include "scene.h"

/* --- descriptors */

static void serve(struct scene *s, uint32_t fds, uint32_t fd_max, uint32_t waiting)
{
	s->has_other = true;
	s->other_socket.state = SOCKET_LISTEN;
	s->other_socket.inode = 99;
	s->other_socket.rport = 0;
	s->other_socket.backlog = waiting;
	s->other_socket.backlog_max = 128;
	s->process.fds = fds;
	s->process.fd_max = fd_max;
}

/* For the second of four seconds the limit is below what the program needs. */
static void limit_in_a_spell(struct scene *s, unsigned sample)
{
	bool broken = sample >= 8 && sample < 12;

	serve(s, broken ? 24 : 60, broken ? 24 : 1024, broken ? 30 : 0);
}

static void queue_in_a_spell(struct scene *s, unsigned sample)
{
	serve(s, 60, 1024, sample >= 8 && sample < 12 ? 30 : 0);
}

static void limit_without_a_queue(struct scene *s, unsigned sample)
{
	serve(s, 24, 24, sample == 8 ? 1 : 0);
}

TEST(descriptors_run_out_in_spells)
{
	CHECK_EQ_TEXT(diagnose(limit_in_a_spell), "app-out-of-fds");
	CHECK_EQ_TEXT(diagnose(queue_in_a_spell), "");
	CHECK_EQ_TEXT(diagnose(limit_without_a_queue), "");
}

/* --- resets */

static void reset_at(struct scene *s, unsigned sample, unsigned every, unsigned last)
{
	uint64_t count = min_of(sample, last) / every;

	s->has_refusal = true;
	s->refusal.resets = count;
	s->counters[0] = (struct counter_record){.counter = "TcpEstabResets", .value = 100 + count};
}

static void reset_once_a_second(struct scene *s, unsigned sample)
{
	reset_at(s, sample, 4, 21);
}

static void reset_every_two_seconds(struct scene *s, unsigned sample)
{
	reset_at(s, sample, 10, 21);
}

TEST(resets_now_and_then)
{
	CHECK_EQ_TEXT(diagnose(reset_once_a_second), "peer-reset");
	CHECK_EQ_TEXT(diagnose(reset_every_two_seconds), "");
}
