/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel remembers of the time before a run, and loss that comes in spells, on snapshots made by hand. Each
 * case has a near miss: the same picture without the deciding figure.
 */
#include "scene.h"

/* --- ACKs that took less before --- */

/* A request and its reply every 200 ms, one ACK after 150 ms; before the run a hundred took so much on average. */
static void ask_slowly(struct scene *s, unsigned sample, uint64_t before_ns)
{
	if (sample == 0) {
		s->tcp.delivered = 100;
		s->tcp.busy_ns = 100 * before_ns;
	}
	s->tcp.srtt_ns = 150000000;
	s->tcp.delivered++;
	s->tcp.busy_ns += 150000000;
	s->tcp.bytes_sent += 200;
	s->tcp.bytes_acked += 200;
	s->tcp.bytes_received += 200;
	s->tcp.data_segs_out++;
	s->tcp.data_segs_in++;
	s->tcp.segs_in++;
	s->tcp.segs_out++;
}

static void asked_faster_before(struct scene *s, unsigned sample)
{
	ask_slowly(s, sample, 30000000);
}

static void asked_like_this_before(struct scene *s, unsigned sample)
{
	ask_slowly(s, sample, 140000000);
}

TEST(acks_that_took_less_before)
{
	CHECK_EQ_TEXT(diagnose(asked_faster_before), "path-latency");
	CHECK_EQ_TEXT(diagnose(asked_like_this_before), "");
}

/* --- loss in spells --- */

static bool in_spell(unsigned sample)
{
	return sample % 5 < 2;
}

/* 0.4 s with losses every second; one segment in fifty was retransmitted before. */
static void send_in_spells(struct scene *s, unsigned sample, uint64_t rate)
{
	if (sample == 0) {
		s->tcp.data_segs_out = 10000;
		s->tcp.total_retrans = 200;
	}
	send_well(s);
	s->tcp.data_segs_out += 140;
	memcpy(s->tcp.cc, "bbr", 4);
	if (!in_spell(sample))
		return;
	s->tcp.bytes_acked -= 200000 - rate;
	s->tcp.total_retrans += 10;
	s->tcp.bytes_retrans += 14480;
}

static void slow_in_spells(struct scene *s, unsigned sample)
{
	send_in_spells(s, sample, 20000);
}

/* BBR that fills a short queue loses as well, and moves as much then. */
static void fills_a_queue(struct scene *s, unsigned sample)
{
	send_in_spells(s, sample, 190000);
}

TEST(loss_in_spells)
{
	CHECK_EQ_TEXT(diagnose(slow_in_spells), "path-loss");
	CHECK_EQ_TEXT(diagnose(fills_a_queue), "");
}

static void receive_in_spells(struct scene *s, unsigned sample)
{
	bool spell = in_spell(sample);

	if (sample == 0) {
		s->tcp.data_segs_in = 10000;
		s->tcp.rcv_ooopack = 500;
	}
	s->tcp.bytes_received += spell ? 50000 : 200000;
	s->tcp.data_segs_in += spell ? 35 : 140;
	s->tcp.segs_in += spell ? 35 : 140;
	s->tcp.rcv_ooopack += spell ? 10 : 0;
	s->counters[0] = (struct counter_record){.counter = "TcpExtTCPDSACKOldSent", .value = 0};
}

/* Half of what came out of order came twice: it was overtaken, and retransmitted in vain. */
static void receive_twice(struct scene *s, unsigned sample)
{
	receive_in_spells(s, sample);
	s->counters[0].value = s->tcp.rcv_ooopack / 2;
}

TEST(segments_out_of_order_in_spells)
{
	CHECK_EQ_TEXT(diagnose(receive_in_spells), "path-loss");
	CHECK_EQ_TEXT(diagnose(receive_twice), "path-reordering");
}

/* --- interruptions as before --- */

/* One interruption of one timeout, in sample 7; 3 recoveries before took a tenth of the time with data to send. */
static void interrupt(struct scene *s, unsigned sample, uint16_t recoveries)
{
	if (sample == 0) {
		s->tcp.total_rto_recoveries = recoveries;
		s->tcp.total_rto_ns = recoveries * UINT64_C(300000000);
		s->tcp.busy_ns = UINT64_C(9000000000);
	}
	s->socket.sendq_bytes = 30 * 1448;
	s->tcp.unacked = 30;
	s->counters[0] = (struct counter_record){.counter = "TcpExtTCPFastRetrans"};
	s->counters[1] = (struct counter_record){.counter = "TcpExtTCPSlowStartRetrans"};
	if (sample == 7 || sample == 8) {
		s->tcp.last_ack_ns += SAMPLE_NS;
		s->tcp.busy_ns += SAMPLE_NS;
		if (sample == 8) {
			s->tcp.total_rto++;
			s->tcp.total_retrans++;
			s->tcp.backoff = 1;
		}
		return;
	}
	s->tcp.backoff = 0;
	s->tcp.bytes_sent += 200000;
	s->tcp.bytes_acked += 200000;
	s->tcp.busy_ns += SAMPLE_NS;
	s->tcp.last_ack_ns = 1000000;
	s->tcp.last_received_ns = UINT64_MAX;
}

static void interrupted_as_before(struct scene *s, unsigned sample)
{
	interrupt(s, sample, 3);
}

static void interrupted_once(struct scene *s, unsigned sample)
{
	interrupt(s, sample, 0);
}

TEST(interruptions_as_before_the_run)
{
	CHECK_EQ_TEXT(diagnose(interrupted_as_before), "path-outage");
	CHECK_EQ_TEXT(diagnose(interrupted_once), "");
}

/* --- one connection is stuck, another to the same host goes on --- */

static void one_is_stuck(struct scene *s, unsigned sample)
{
	s->socket.sendq_bytes = 1448;
	s->tcp.bytes_acked = 100000;
	s->tcp.unacked = 1;
	s->tcp.last_ack_ns += SAMPLE_NS;
	s->tcp.backoff = 2;
	s->has_other = true;
	s->other.bytes_sent += 14480;
	s->other.bytes_acked += 14480;
	s->other.data_segs_out += 10;
	s->other.segs_in += 10;
	s->other.segs_out += 10;
	s->other.last_ack_ns = 1000000;
	(void)sample;
}

static void the_other_loses(struct scene *s, unsigned sample)
{
	one_is_stuck(s, sample);
	s->other.total_retrans++;
	s->other.bytes_retrans += 200;
}

TEST(a_stuck_connection_beside_one_that_loses)
{
	CHECK_EQ_TEXT(diagnose(one_is_stuck), "path-blackhole");
	CHECK_EQ_TEXT(diagnose(the_other_loses), "path-loss");
}

/* --- keep-alive --- */

/* An exchange every three seconds; a keep-alive probe is acknowledged one second after each. */
static void keep_alive(struct scene *s, unsigned sample)
{
	uint64_t age = sample % 15 * SAMPLE_NS + 10000000;
	bool probed = age > NSEC_PER_SEC;

	if (sample == 0)
		s->tcp.data_segs_in = s->tcp.data_segs_out = 100;
	if (sample % 15 == 0) {
		s->tcp.data_segs_in++;
		s->tcp.data_segs_out++;
	}
	s->tcp.segs_in += sample % 15 == 0 || sample % 15 == 5;
	s->tcp.last_sent_ns = s->tcp.last_received_ns = age;
	s->tcp.last_ack_ns = probed ? age - NSEC_PER_SEC : age;
}

/* With BPF the order within the tick is known: data was received last. */
static void keep_alive_in_order(struct scene *s, unsigned sample)
{
	keep_alive(s, sample);
	s->has_asking = true;
	s->asking = (struct asking_record){.cookie = s->socket.cookie, .sent_last = false};
}

/* The same ages, but the ACK came at once and nothing else: the peer owes the reply. */
static void owes_a_reply(struct scene *s, unsigned sample)
{
	keep_alive_in_order(s, sample);
	s->tcp.last_ack_ns = s->tcp.last_sent_ns - 5000000;
	s->asking.sent_last = true;
}

TEST(keep_alive_probes_are_no_requests)
{
	CHECK_EQ_TEXT(diagnose(keep_alive), "");
	CHECK_EQ_TEXT(diagnose(keep_alive_in_order), "");
	CHECK_EQ_TEXT(diagnose(owes_a_reply), "peer-slow");
}

/* --- name servers and listeners --- */

/* Two queries per sample, of which the server leaves some without an answer. */
static void drop_queries(struct scene *s, unsigned sample, unsigned each)
{
	bool dropped = each && sample % each == 1;

	s->has_lookup = true;
	s->lookup.queries += 2;
	s->lookup.answers += dropped ? 1 : 2;
	s->lookup.overdue += dropped;
	s->lookup.pending += dropped;
	s->lookup.oldest_ns = s->lookup.pending ? sample * (uint64_t)SAMPLE_NS : 0;
}

static void one_in_four(struct scene *s, unsigned sample)
{
	drop_queries(s, sample, 2);
}

static void one_in_sixteen(struct scene *s, unsigned sample)
{
	drop_queries(s, sample, 8);
}

TEST(queries_without_an_answer)
{
	CHECK_EQ_TEXT(diagnose(one_in_four), "dns-slow");
	CHECK_EQ_TEXT(diagnose(one_in_sixteen), "");
}

/* Bursts overflow a backlog of 2 between the samples; or SYNs without a handshake fill the SYN queue. */
static void drop_attempts(struct scene *s, uint64_t overflows)
{
	s->has_other = true;
	s->other_socket.state = SOCKET_LISTEN;
	s->other_socket.lport = 5001;
	s->other_socket.rport = 0;
	s->other_socket.backlog = 0;
	s->other_socket.backlog_max = 2;
	s->other_socket.drops = s->other_socket.drops == UINT32_MAX ? 0 : s->other_socket.drops + 30;
	s->counters[0].counter = "TcpExtListenOverflows";
	s->counters[0].value += overflows;
	s->counters[1].counter = "TcpExtTCPReqQFullDrop";
	s->counters[1].value += 10;
}

static void bursts(struct scene *s, unsigned sample)
{
	(void)sample;
	drop_attempts(s, 20);
}

static void flood(struct scene *s, unsigned sample)
{
	(void)sample;
	drop_attempts(s, 0);
}

TEST(a_short_backlog_fills_both_queues)
{
	CHECK_EQ_TEXT(diagnose(bursts), "accept-queue-full");
	CHECK_EQ_TEXT(diagnose(flood), "syn-queue-full");
}
