/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests and replies: who is late, who has nothing to say. Within one tick both have the same age. */
#include "scene.h"

#include "event/tcp/tcp_exchange.h"

#define TICK_NS UINT64_C(4000000)

/* So many exchanges since the last sample; the ages of what was last asked, acknowledged and answered, in ticks. */
static void exchange(struct scene *s, uint32_t count, uint64_t asked, uint64_t acked, uint64_t answered)
{
	s->tcp.bytes_sent += count * 64;
	s->tcp.bytes_acked += count * 64;
	s->tcp.bytes_received += count * 64;
	s->tcp.data_segs_out += count;
	s->tcp.data_segs_in += count;
	s->tcp.segs_out += count;
	s->tcp.segs_in += count;
	s->tcp.unacked = 0;
	s->socket.sendq_bytes = 0;
	s->tcp.last_sent_ns = asked * TICK_NS;
	s->tcp.last_ack_ns = acked * TICK_NS;
	s->tcp.last_received_ns = answered * TICK_NS;
}

#define BEGIN 6 /* samples in which all is well */

static void has_nothing_to_ask(struct scene *s, unsigned sample)
{
	uint64_t age = sample < BEGIN ? 0 : (sample - BEGIN) * 50 + 10;

	exchange(s, sample < BEGIN ? 20 : 0, age, age, age);
}

/* Asked in the same tick in which the last answer came; the peer's kernel acknowledges ten ticks later. */
static void is_not_answered(struct scene *s, unsigned sample)
{
	uint64_t age = sample < BEGIN ? 0 : (sample - BEGIN) * 50 + 20;

	exchange(s, sample < BEGIN ? 20 : 0, age, age >= 10 ? age - 10 : 0, age);
}

TEST(a_peer_that_owes_an_answer)
{
	CHECK_EQ_TEXT(diagnose(has_nothing_to_ask), "");
	CHECK_EQ_TEXT(diagnose(is_not_answered), "peer-slow");
}

/* The other way round: a program of this host is asked, on a port that it listens on. */
static void listens(struct scene *s)
{
	s->has_other = true;
	s->other_socket = s->socket;
	s->other_socket.state = SOCKET_LISTEN;
	s->other_socket.cookie = 4711;
}

static void is_not_asked(struct scene *s, unsigned sample)
{
	is_not_answered(s, sample);
	listens(s);
}

static void does_not_answer(struct scene *s, unsigned sample)
{
	uint64_t age = sample < BEGIN ? 0 : (sample - BEGIN) * 50 + 20;

	exchange(s, sample < BEGIN ? 20 : 0, age ? age + 3 : 0, age ? age + 3 : 0, age);
	listens(s);
}

/* Asked again within the tick of the answer: this host's kernel acknowledges by itself. */
static void does_not_answer_the_next(struct scene *s, unsigned sample)
{
	uint64_t age = sample < BEGIN ? 0 : (sample - BEGIN) * 50 + 20;

	exchange(s, sample < BEGIN ? 20 : 0, age, age, age);
	s->tcp.segs_out += sample == BEGIN;
	listens(s);
}

TEST(a_program_here_that_owes_an_answer)
{
	CHECK_EQ_TEXT(diagnose(is_not_asked), "");
	CHECK_EQ_TEXT(diagnose(does_not_answer), "app-not-sending");
	CHECK_EQ_TEXT(diagnose(does_not_answer_the_next), "app-not-sending");
}

/* Each question comes on a connection of its own; the last one is acknowledged, and that is all. */
static void asks_anew(struct scene *s, unsigned sample)
{
	uint64_t age = sample < BEGIN ? 0 : (sample - BEGIN) * 50;

	s->socket.cookie = 100 + min_of(sample, BEGIN);
	s->socket.lport = (uint16_t)(40000 + min_of(sample, BEGIN));
	s->tcp.data_segs_out = s->tcp.data_segs_in = 0;
	exchange(s, 10, age, age, age);
	if (sample >= BEGIN) {
		s->tcp.data_segs_out = 1;
		s->tcp.data_segs_in = 0;
	}
}

/* One that was always slow is no news. */
static void asks_somebody_slow(struct scene *s, unsigned sample)
{
	asks_anew(s, sample);
	if (sample < BEGIN)
		s->tcp.last_received_ns = 2 * (s->tcp.last_sent_ns = 100 * TICK_NS);
}

static void is_asked_anew(struct scene *s, unsigned sample)
{
	asks_anew(s, sample);
	s->socket.lport = 7001;
	s->socket.rport = (uint16_t)(40000 + min_of(sample, BEGIN));
	listens(s);
	if (sample < BEGIN)
		return;
	s->tcp.data_segs_out = 0;
	s->tcp.data_segs_in = 1;
	s->tcp.bytes_received = s->socket.recvq_bytes = 64;
}

/* It has not even been accepted, by a program that listens on that port and does something else. */
static void is_not_accepted(struct scene *s, unsigned sample)
{
	is_asked_anew(s, sample);
	s->other_socket.inode = 99;
	s->socket.inode = sample < BEGIN ? 99 : 0;
}

TEST(questions_on_new_connections)
{
	CHECK_EQ_TEXT(diagnose(is_not_accepted), "app-not-reading");
	CHECK_EQ_TEXT(diagnose(asks_anew), "peer-slow");
	CHECK_EQ_TEXT(diagnose(asks_somebody_slow), "");
	CHECK_EQ_TEXT(diagnose(is_asked_anew), "app-not-reading");
}

/* Every two seconds an answer and, in the same tick, the next request, which is acknowledged at once. */
static void asks_again(struct scene *s, unsigned sample)
{
	uint64_t age = sample % 10 * 50 + 10;

	exchange(s, sample % 10 == 0, age, age, age);
	s->has_asking = true;
	s->asking = (struct asking_record){.cookie = s->socket.cookie, .sent_last = true};
}

/* The same to the ages: a request and its answer, and then the program has nothing to ask. */
static void has_been_answered(struct scene *s, unsigned sample)
{
	asks_again(s, sample);
	s->asking.sent_last = false;
}

static void is_asked_again(struct scene *s, unsigned sample)
{
	has_been_answered(s, sample);
	listens(s);
}

/* Ten quick answers, then one that takes 0.8 s. */
static void is_slow_at_times(struct scene *s, unsigned sample)
{
	uint64_t age = sample % 5 * 50 + 10;

	exchange(s, sample % 5 == 0 ? 10 : 0, age, age, age);
	s->has_asking = true;
	s->asking = (struct asking_record){.cookie = s->socket.cookie, .sent_last = true};
}

/* Without BPF the order in a tick is unknown. */
static void is_unknown(struct scene *s, unsigned sample)
{
	asks_again(s, sample);
	s->has_asking = false;
}

static void polls_long(struct scene *s, unsigned sample)
{
	uint64_t age = sample * 50 + 10;

	exchange(s, 0, age, age, age);
	s->tcp.data_segs_in = s->tcp.data_segs_out = 100;
	s->has_asking = true;
	s->asking = (struct asking_record){.cookie = s->socket.cookie, .sent_last = true};
}

TEST(services_that_were_always_slow)
{
	CHECK_EQ_TEXT(diagnose(asks_again), "peer-slow");
	CHECK_EQ_TEXT(diagnose(has_been_answered), "");
	CHECK_EQ_TEXT(diagnose(is_asked_again), "app-not-sending");
	CHECK_EQ_TEXT(diagnose(is_slow_at_times), "peer-slow");
	CHECK_EQ_TEXT(diagnose(is_unknown), "");
	CHECK_EQ_TEXT(diagnose(polls_long), "");
}

/* Each request has a connection of its own, which lives for 0.4 s: too short to count as a slow answer. */
static void gives_up(struct scene *s, unsigned sample)
{
	uint64_t age = sample % 3 * 50 + 1;

	s->socket.cookie = 100 + sample / 3;
	s->socket.lport = (uint16_t)(40000 + sample / 3);
	s->tcp.data_segs_out = s->tcp.data_segs_in = 0;
	exchange(s, 0, age, age, age);
	s->tcp.data_segs_out = 1;
	s->has_unanswered = sample > 6;
	s->unanswered = (struct unanswered_record){.outcome = TCP_EXCHANGE_CLOSED,
						   .service = s->socket.raddr,
						   .service_port = s->socket.rport,
						   .requests = sample / 3,
						   .mean_ns = 400 * NSEC_PER_MSEC};
}

static void gives_up_elsewhere(struct scene *s, unsigned sample)
{
	gives_up(s, sample);
	s->unanswered.service_port++;
}

static void gives_up_here(struct scene *s, unsigned sample)
{
	gives_up(s, sample);
	s->unanswered.serves = true;
}

TEST(requests_that_end_without_an_answer)
{
	CHECK_EQ_TEXT(diagnose(gives_up), "peer-slow");
	CHECK_EQ_TEXT(diagnose(gives_up_elsewhere), "");
	CHECK_EQ_TEXT(diagnose(gives_up_here), "");
}

/* A stream is received, and then nothing. */
static void falls_silent(struct scene *s, unsigned sample)
{
	bool moves = sample < 11;

	s->tcp.bytes_received += moves ? 200000 : 0;
	s->tcp.data_segs_in += moves ? 140 : 0;
	s->tcp.segs_in += moves ? 140 : 0;
	s->tcp.last_received_ns = s->tcp.last_ack_ns = moves ? 0 : (sample - 10) * (uint64_t)SAMPLE_NS;
	s->tcp.last_sent_ns = (sample + 1) * (uint64_t)SAMPLE_NS;
	s->tcp.unacked = 0;
	s->socket.sendq_bytes = 0;
}

static void does_not_answer_when_asked(struct scene *s, unsigned sample)
{
	falls_silent(s, sample);
	s->has_keepalive = sample > 13;
	s->keepalive.asked = 2;
	s->keepalive.unanswered = sample > 14 ? 2 : 1;
}

static void answers_when_asked(struct scene *s, unsigned sample)
{
	does_not_answer_when_asked(s, sample);
	s->keepalive.unanswered = 0;
	s->keepalive.answered = true;
}

/* Seen before its first byte, and the interface is switched off while it receives. */
static void interface_goes(struct scene *s, unsigned sample)
{
	falls_silent(s, sample);
	if (sample < 2) {
		s->tcp.bytes_received = 0;
		s->tcp.last_received_ns = UINT64_MAX;
	}
	s->link.flags = sample < 11;
}

TEST(a_peer_that_fell_silent)
{
	CHECK_EQ_TEXT(diagnose(interface_goes), "link-down");
	CHECK_EQ_TEXT(diagnose(falls_silent), "");
	CHECK_EQ_TEXT(diagnose(does_not_answer_when_asked), "path-blackhole");
	CHECK_EQ_TEXT(diagnose(answers_when_asked), "");
}
