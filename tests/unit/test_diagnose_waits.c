/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waits that began before the run, and connects that never send a packet, on snapshots made by hand. Each case has a
 * near miss: the same picture without the deciding figure.
 */
#include "scene.h"

#include <errno.h>

/* --- connects that fail before a packet is sent --- */

static void fail_to_connect(struct scene *s, uint16_t error)
{
	s->has_attempt = true;
	s->attempt.attempts++;
	s->attempt.error = error;
}

static void without_a_route(struct scene *s, unsigned sample _unused_)
{
	fail_to_connect(s, ENETUNREACH);
}

static void by_a_rule(struct scene *s, unsigned sample _unused_)
{
	fail_to_connect(s, EACCES);
}

/* There is a route: something else fails. */
static void with_a_route(struct scene *s, unsigned sample _unused_)
{
	fail_to_connect(s, 0);
}

static void once(struct scene *s, unsigned sample)
{
	if (sample == 16)
		fail_to_connect(s, ENETUNREACH);
}

/* A second address of the name answers; and where this one does at times, clients may be impatient. */
static void give_up(struct scene *s, uint64_t answered)
{
	s->has_attempt = true;
	s->attempt.given_up++;
	s->attempt.given_up_wait_ns = 200000000;
	s->attempt.answered = answered;
}

static void gives_up(struct scene *s, unsigned sample _unused_)
{
	give_up(s, 0);
}

static void gives_up_at_times(struct scene *s, unsigned sample)
{
	give_up(s, sample + 1);
}

TEST(connects_that_are_given_up)
{
	CHECK_EQ_TEXT(diagnose(gives_up), "connect-dropped");
	CHECK_EQ_TEXT(diagnose(gives_up_at_times), "");
}

TEST(connects_that_send_nothing)
{
	CHECK_EQ_TEXT(diagnose(without_a_route), "no-route");
	CHECK_EQ_TEXT(diagnose(by_a_rule), "route-blackhole");
	CHECK_EQ_TEXT(diagnose(with_a_route), "");
	CHECK_EQ_TEXT(diagnose(once), "");
}

/* --- lookups that began before the run --- */

/* A second socket, connected to port 53 of the other host. */
static void look_up(struct scene *s, const char *call)
{
	uint64_t number;

	REQUIRE(enum_value_find(&syscall_names, call, &number) == 0);
	s->has_other = true;
	s->other_socket.proto = 17;
	s->other_socket.rport = 53;
	s->other_socket.inode = 99;
	s->thread.syscall = (uint16_t)number;
}

static void wait_for_lookup(struct scene *s, unsigned sample _unused_)
{
	look_up(s, "poll");
}

/* As a server does that keeps such a socket open. */
static void keep_socket(struct scene *s, unsigned sample _unused_)
{
	look_up(s, "epoll_wait");
}

/* Another lookup in every second sample. */
static void look_up_often(struct scene *s, unsigned sample)
{
	look_up(s, "poll");
	s->other_socket.cookie = 100 + sample / 2;
}

TEST(lookups_that_began_before)
{
	CHECK_EQ_TEXT(diagnose(wait_for_lookup), "dns-dead");
	CHECK_EQ_TEXT(diagnose(keep_socket), "");
	CHECK_EQ_TEXT(diagnose(look_up_often), "");
}

/* --- requests that began before the run --- */

/* The last request was sent 5 s before the run, after N exchanges; the program is 15 s old. */
static void wait_since_before(struct scene *s, unsigned sample, uint32_t exchanges)
{
	uint64_t age_ns = (uint64_t)(sample + 26) * SAMPLE_NS;

	s->process.start_ns = 0;
	s->tcp.data_segs_in = s->tcp.data_segs_out = s->tcp.segs_in = s->tcp.segs_out = exchanges;
	s->tcp.bytes_sent = s->tcp.bytes_acked = s->tcp.bytes_received = (uint64_t)exchanges * 200;
	s->tcp.last_sent_ns = age_ns;
	s->tcp.last_ack_ns = age_ns - 40000000;
	s->tcp.last_received_ns = age_ns + 5000000;
}

static void busy_before(struct scene *s, unsigned sample)
{
	wait_since_before(s, sample, 3000);
}

static void slow_before(struct scene *s, unsigned sample)
{
	wait_since_before(s, sample, 30);
}

TEST(requests_that_began_before)
{
	scene_boot_ns = 15 * NSEC_PER_SEC;
	CHECK_EQ_TEXT(diagnose(busy_before), "peer-slow");
	CHECK_EQ_TEXT(diagnose(slow_before), "");
	scene_boot_ns = 0;
}

/* --- windows without scaling --- */

static void fill_window(struct scene *s, bool scaled)
{
	s->tcp.options = scaled ? 7 : 3;
	s->tcp.bytes_received += 200000;
	s->tcp.data_segs_in += 140;
	s->tcp.segs_in += 140;
	s->tcp.rcv_rtt_ns = 50000000;
	s->tcp.rcv_wnd = 65535;
}

static void unscaled(struct scene *s, unsigned sample _unused_)
{
	fill_window(s, false);
}

static void scaled(struct scene *s, unsigned sample _unused_)
{
	fill_window(s, true);
}

TEST(windows_without_scaling)
{
	CHECK_EQ_TEXT(diagnose(unscaled), "receive-buffer-small");
	CHECK_EQ_TEXT(diagnose(scaled), "");
}
