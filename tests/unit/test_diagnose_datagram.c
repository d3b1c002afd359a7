/* SPDX-License-Identifier: GPL-2.0-or-later */
/* UDP requests to one service, by their counts in each sample: what they say of it. */
#include "look.h"

#include "probe/datagram.h"

/* In each sample; zero is none. */
struct service {
	unsigned requests, repeats, unheeded, answers, slow, overdue; /* times ten */
	unsigned wait_ms, answer_ms;                                  /* of each */
	bool is_read, is_waited_for;
};

static void put_sample(struct snapshot *snapshot, unsigned sample, const void *context)
{
	const struct service *service = context;
	struct datagram_record *d = snapshot_table_add(snapshot_table(snapshot, &datagram_type));

	REQUIRE(addr_parse("10.1.1.5", &d->raddr) == 0);
	d->rport = 1812;
	d->lport = service->wait_ms ? 40000 : 0;
	d->is_read = service->is_read || service->is_waited_for;
	d->pid = service->is_waited_for ? 77 : 0;
	memcpy(d->comm, "radclient", sizeof("radclient"));
	d->requests = sample * service->requests / 10;
	d->repeats = sample * service->repeats / 10;
	d->unheeded = sample * service->unheeded / 10;
	d->answers = sample * service->answers / 10;
	d->slow_answers = sample * service->slow / 10;
	d->overdue = sample * service->overdue / 10;
	d->answer_ns = d->answers * service->answer_ms * UINT64_C(1000000);
	d->pending = service->wait_ms > 0;
	d->oldest_ns = service->wait_ms * UINT64_C(1000000);
}

static const char *look(struct service service)
{
	return look_at(put_sample, &service);
}

#define LOOK(...) look((struct service){__VA_ARGS__})
#define PEER_SLOW "peer-slow peer:10.1.1.5:1812"

TEST(a_program_that_waits)
{
	CHECK_EQ_TEXT(LOOK(.requests = 2, .overdue = 2, .wait_ms = 600, .is_waited_for = true), PEER_SLOW);
	CHECK_EQ_TEXT(LOOK(.requests = 2, .overdue = 2, .wait_ms = 600, .is_read = true), "");
	CHECK_EQ_TEXT(LOOK(.requests = 2, .answers = 2, .slow = 2, .overdue = 2, .wait_ms = 600, .answer_ms = 700,
			   .is_waited_for = true),
		      PEER_SLOW);
	CHECK_EQ_TEXT(LOOK(.requests = 2, .answers = 2, .slow = 2, .overdue = 2, .wait_ms = 600, .answer_ms = 700,
			   .is_read = true),
		      "");
}

TEST(a_program_that_repeats)
{
	CHECK_EQ_TEXT(LOOK(.requests = 4, .repeats = 6, .overdue = 4, .wait_ms = 600, .is_read = true), PEER_SLOW);
	/* A sensor: nobody reads. */
	CHECK_EQ_TEXT(LOOK(.requests = 4, .repeats = 6, .overdue = 4, .wait_ms = 600), "");
	/* Answers to earlier requests. */
	CHECK_EQ_TEXT(LOOK(.requests = 4, .repeats = 6, .unheeded = 6, .answers = 9, .overdue = 4, .wait_ms = 100,
			   .answer_ms = 100, .is_read = true),
		      PEER_SLOW);
}

TEST(requests_that_are_lost)
{
	CHECK_EQ_TEXT(LOOK(.requests = 20, .repeats = 6, .answers = 20, .overdue = 6, .wait_ms = 100, .answer_ms = 90,
			   .is_read = true),
		      "path-loss path:10.1.1.5");
	CHECK_EQ_TEXT(LOOK(.requests = 20, .answers = 20, .wait_ms = 100, .answer_ms = 90, .is_read = true), "");
}
