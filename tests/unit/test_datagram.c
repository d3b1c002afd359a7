/* SPDX-License-Identifier: GPL-2.0-or-later */
/* UDP requests and their answers, by service, from packets as they pass by. */
#include "unit.h"

#include "base/addr.h"
#include "base/clock.h"
#include "probe/datagram.h"

#define MS NSEC_PER_MSEC

static struct datagrams datagrams;
static uint64_t now_ns;

static void begin(void)
{
	datagrams_init(&datagrams);
	now_ns = 1000 * NSEC_PER_SEC;
}

static struct wire_packet packet_of(uint16_t lport, uint16_t rport, uint32_t digest, bool outgoing)
{
	static const uint8_t remote[4] = {10, 0, 0, 2}, local[4] = {10, 0, 0, 1};

	return (struct wire_packet){.kind = WIRE_DATAGRAM,
				    .raddr = addr_from_v4(remote),
				    .laddr = addr_from_v4(local),
				    .lport = lport,
				    .rport = rport,
				    .digest = digest,
				    .outgoing = outgoing};
}

static void send_one(uint64_t after_ns, uint16_t lport, uint32_t digest)
{
	struct wire_packet packet = packet_of(lport, 1812, digest, true);

	now_ns += after_ns;
	datagrams_take(&datagrams, &packet, now_ns);
}

static void receive_one(uint64_t after_ns, uint16_t lport)
{
	struct wire_packet packet = packet_of(lport, 1812, 99, false);

	now_ns += after_ns;
	datagrams_take(&datagrams, &packet, now_ns);
}

/* The only service, as a snapshot has it. */
static struct datagram_record service(void)
{
	struct datagram_record record = {};
	struct snapshot *snapshot = snapshot_new();
	unsigned count = 0;

	datagrams_age(&datagrams, now_ns);
	datagrams_add(&datagrams, snapshot, 7);
	snapshot_each(snapshot, datagram_type, const struct datagram_record, each) {
		record = *each;
		count++;
	}
	snapshot_free(snapshot);
	CHECK_EQ_UINT(count, 1);
	return record;
}

TEST(answers)
{
	struct datagram_record r;

	begin();
	send_one(0, 40000, 1);
	receive_one(3 * MS, 40000);
	receive_one(1 * MS, 40000); /* the second part of the same answer */
	send_one(500 * MS, 40000, 2);
	receive_one(201 * MS, 40000);
	r = service();
	CHECK_EQ_UINT(r.netns, 7);
	CHECK_EQ_UINT(r.rport, 1812);
	CHECK_EQ_UINT(r.requests, 2);
	CHECK_EQ_UINT(r.repeats, 0);
	CHECK_EQ_UINT(r.answers, 2);
	CHECK_EQ_UINT(r.slow_answers, 1);
	CHECK_EQ_UINT(r.answer_ns, 204 * MS);
	CHECK_EQ_UINT(r.pending, 0);
	CHECK_EQ_UINT(r.overdue, 0);
	datagrams_done(&datagrams);
}

TEST(repeats)
{
	struct datagram_record r;

	begin();
	send_one(0, 40000, 1);
	send_one(1 * MS, 40000, 1);   /* the same packet on another interface */
	send_one(90 * MS, 40000, 1);  /* too soon for a repeat */
	send_one(400 * MS, 40000, 1); /* a repeat */
	receive_one(50 * MS, 40000);
	/* Something that never changes may be a sign of life. */
	CHECK_EQ_UINT(service().repeats, 0);
	send_one(100 * MS, 40000, 2);
	r = service();
	CHECK_EQ_UINT(r.requests, 3);
	CHECK_EQ_UINT(r.repeats, 1);
	/* From the first request; but it came soon after the last. */
	CHECK_EQ_UINT(r.answer_ns, 541 * MS);
	CHECK_EQ_UINT(r.slow_answers, 0);
	datagrams_done(&datagrams);
}

/* The answer that comes is one to an earlier request: the client repeats. */
TEST(late_answers)
{
	begin();
	for (unsigned i = 0; i < 4; i++) {
		send_one(600 * MS, 40000, 1);
		receive_one(100 * MS, 40000);
	}
	CHECK_EQ_UINT(service().requests, 1);
	CHECK_EQ_UINT(service().repeats, 0);
	CHECK_EQ_UINT(service().answers, 4);
	send_one(100 * MS, 40000, 2);
	CHECK_EQ_UINT(service().repeats, 3);
	CHECK_EQ_UINT(service().unheeded, 3);
	send_one(600 * MS, 40000, 2);
	CHECK_EQ_UINT(service().repeats, 4);
	CHECK_EQ_UINT(service().unheeded, 3);
	datagrams_done(&datagrams);
}

TEST(epoll)
{
	static const char text[] = "pos:\t0\nflags:\t02000002\ntfd:        5 events:       19 data:               5\n"
				   "tfd:       51 events:        4 data:              51\n";

	CHECK(datagram_epoll_reads(text, 5));
	CHECK(!datagram_epoll_reads(text, 51));
	CHECK(!datagram_epoll_reads(text, 1));
	CHECK(!datagram_epoll_reads("tfd:", 0));
}

TEST(unanswered)
{
	struct datagram_record r;

	begin();
	send_one(0, 40000, 1);
	send_one(200 * MS, 40001, 1);
	now_ns += 150 * MS;
	r = service();
	CHECK_EQ_UINT(r.pending, 2);
	CHECK_EQ_UINT(r.overdue, 1);
	CHECK_EQ_UINT(r.lport, 40000);
	CHECK_EQ_UINT(r.oldest_ns, 350 * MS);
	/* Each counts once, until the program asks something else. */
	now_ns += 200 * MS;
	CHECK_EQ_UINT(service().overdue, 2);
	send_one(0, 40000, 2);
	CHECK_EQ_UINT(service().overdue, 2);
	CHECK_EQ_UINT(service().lport, 40001);
	now_ns += 301 * MS;
	CHECK_EQ_UINT(service().overdue, 3);
	datagrams_done(&datagrams);
}

/* Answers may be among packets that were missed. */
TEST(missed)
{
	begin();
	send_one(0, 40000, 1);
	datagrams_miss(&datagrams);
	now_ns += 400 * MS;
	CHECK_EQ_UINT(service().overdue, 0);
	CHECK_EQ_UINT(service().pending, 0);
	datagrams_done(&datagrams);
}

/* What this host answers, multicast, and two of the same kind. */
TEST(no_requests)
{
	static const uint8_t group[4] = {239, 1, 1, 1};
	struct wire_packet answer = packet_of(1812, 40000, 1, true), same = packet_of(5405, 5405, 1, true),
			   many = packet_of(40000, 1812, 1, true), push = packet_of(40000, 1812, 1, false),
			   high = packet_of(50000, 40000, 1, true);

	begin();
	many.raddr = addr_from_v4(group);
	datagrams_take(&datagrams, &answer, now_ns);
	datagrams_take(&datagrams, &same, now_ns);
	datagrams_take(&datagrams, &many, now_ns);
	datagrams_take(&datagrams, &push, now_ns);
	datagrams_take(&datagrams, &high, now_ns);
	CHECK_EQ_UINT(datagrams.services.count, 0);
	CHECK_EQ_UINT(datagrams.flows.count, 0);
	CHECK_EQ_UINT(datagrams.lost, 0);
	datagrams_done(&datagrams);
}

TEST(forgotten)
{
	begin();
	send_one(0, 40000, 1);
	now_ns += 16 * NSEC_PER_SEC;
	datagrams_age(&datagrams, now_ns);
	CHECK_EQ_UINT(datagrams.services.count, 0);
	CHECK_EQ_UINT(datagrams.flows.count, 0);
	datagrams_done(&datagrams);
}

/* Room for 4,096 flows of 1,024 services; what is beyond is counted. */
TEST(bounds)
{
	begin();
	for (uint32_t i = 0; i < 5000; i++)
		send_one(0, (uint16_t)(33000 + i), 1);
	CHECK_EQ_UINT(datagrams.flows.count, 4096);
	CHECK_EQ_UINT(datagrams.lost, 5000 - 4096);
	CHECK_EQ_UINT(service().requests, 4096);
	datagrams_done(&datagrams);
}

/* A service of this host: two clients, of which one repeats what is answered too late. */
TEST(services_of_this_host)
{
	struct wire_packet first = packet_of(1812, 40000, 1, false), second = packet_of(1812, 40001, 7, false),
			   answer = packet_of(1812, 40000, 99, true);
	struct datagram_record r;

	begin();
	datagrams_take(&datagrams, &first, now_ns);
	datagrams_take(&datagrams, &second, now_ns);
	first.digest = 2;
	datagrams_take(&datagrams, &first, now_ns += 30 * MS);
	datagrams_take(&datagrams, &first, now_ns += 700 * MS);
	datagrams_take(&datagrams, &answer, now_ns += 300 * MS);
	r = service();
	CHECK(r.serves);
	CHECK_EQ_INT(r.raddr.family, ADDR_UNKNOWN);
	CHECK_EQ_UINT(r.rport, 0);
	CHECK_EQ_UINT(r.lport, 1812);
	CHECK_EQ_UINT(r.requests, 3);
	CHECK_EQ_UINT(r.repeats, 1);
	CHECK_EQ_UINT(r.answers, 1);
	CHECK_EQ_UINT(r.slow_answers, 1);
	CHECK_EQ_UINT(r.answer_ns, 1030 * MS);
	CHECK_EQ_UINT(r.pending, 1);
	CHECK_EQ_UINT(r.oldest_ns, 1030 * MS);
	datagrams_done(&datagrams);
}
