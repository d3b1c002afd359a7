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

/* Its port is in use. */
static void without_a_port(struct scene *s, unsigned sample _unused_)
{
	s->has_attempt = true;
	s->attempt.portless++;
}

static void once_without_a_port(struct scene *s, unsigned sample)
{
	s->has_attempt = true;
	s->attempt.portless = sample >= 16;
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
	CHECK_EQ_TEXT(diagnose(without_a_port), "ports-exhausted");
	CHECK_EQ_TEXT(diagnose(once_without_a_port), "");
}

/* --- lookups that began before the run --- */

/* A second socket, connected to port 53 of the other host. */
static void look_up(struct scene *s, const char *call)
{
	s->has_other = true;
	s->other_socket.proto = 17;
	s->other_socket.rport = 53;
	s->other_socket.inode = 99;
	s->thread.syscall = call_number(call);
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

/* --- servers that speak first --- */

/* A connection after the other, each silent for a time in samples, then closed after an exchange that no sample saw. */
static void connect_in_turn(struct scene *s, unsigned sample, unsigned silent)
{
	s->socket.cookie = 100 + sample / silent;
	s->socket.lport = (uint16_t)(40000 + sample / silent);
	s->tcp.data_segs_in = s->tcp.data_segs_out = 0;
	s->tcp.last_sent_ns = s->tcp.last_received_ns = UINT64_MAX;
	s->tcp.last_ack_ns = (uint64_t)(sample % silent) * SAMPLE_NS;
}

static void greets_late(struct scene *s, unsigned sample)
{
	connect_in_turn(s, sample, 4);
}

static void greets_at_once(struct scene *s, unsigned sample)
{
	connect_in_turn(s, sample, 2);
}

/* A connection that talks as soon as it is there. */
static void answers_others_at_once(struct scene *s, unsigned sample)
{
	connect_in_turn(s, sample, 4);
	s->has_other = sample >= 12;
	s->other_socket.cookie = 500;
	s->other.data_segs_in = s->other.data_segs_out = 3;
}

TEST(servers_that_greet_late)
{
	CHECK_EQ_TEXT(diagnose(greets_late), "peer-slow");
	CHECK_EQ_TEXT(diagnose(greets_at_once), "");
	CHECK_EQ_TEXT(diagnose(answers_others_at_once), "");
}

/* --- services that answer one address of this host and not another --- */

static void connect_from(struct scene *s, const char *laddr)
{
	s->socket.state = SOCKET_SYN_SENT;
	s->socket.timer = SOCKET_TIMER_RETRANSMIT;
	s->socket.timer_retransmits = 2;
	s->has_other = true;
	s->other.data_segs_in = s->other.data_segs_out = 3;
	REQUIRE(addr_parse(laddr, &s->socket.laddr) == 0);
}

static void from_another_address(struct scene *s, unsigned sample _unused_)
{
	connect_from(s, "10.77.1.9");
}

static void from_the_same_address(struct scene *s, unsigned sample _unused_)
{
	connect_from(s, "10.77.1.2");
}

TEST(connects_from_an_address_that_gets_no_replies)
{
	CHECK_EQ_TEXT(diagnose(from_another_address), "connect-dropped");
	CHECK_EQ_TEXT(diagnose(from_the_same_address), "peer-not-accepting");
}
