/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A host that refuses once per second, beside a connection that moves data: it matters whether it ever was a peer. */
#include "look.h"

#include "probe/remembered.h"
#include "probe/wire.h"
#include "snapshot/socket/socket.h"

#define TCP 6

struct refuser {
	unsigned per_second;
	bool asked, remembered; /* the kernel was asked, and remembers it */
	bool still;             /* nothing else moves */
};

static struct addr address(const char *text)
{
	struct addr a = {};

	REQUIRE(addr_parse(text, &a) == 0);
	return a;
}

static void put_conn(struct snapshot *snapshot, const struct refuser *r, unsigned sample)
{
	struct socket_record *conn = snapshot_table_add(snapshot_table(snapshot, &socket_type));
	struct tcp_record *tcp = snapshot_table_add(snapshot_table(snapshot, &tcp_type));

	conn->proto = TCP;
	conn->state = SOCKET_ESTABLISHED;
	conn->laddr = address("10.1.1.1");
	conn->lport = 50000;
	conn->raddr = address("10.1.1.5");
	conn->rport = 80;
	conn->cookie = 2;
	conn->recvq_bytes = conn->sendq_bytes = 0;
	conn->tcp = 0;
	tcp->bytes_received = tcp->bytes_sent = tcp->bytes_acked = 1000 + (r->still ? 0 : UINT64_C(1000) * sample);
}

static void put_sample(struct snapshot *snapshot, unsigned sample, const void *context)
{
	const struct refuser *r = context;
	struct refusal_record *refusal = snapshot_table_add(snapshot_table(snapshot, &refusal_type));
	struct remembered_record *remembered;

	put_conn(snapshot, r, sample);
	*refusal = (struct refusal_record){
		.raddr = address("10.1.1.9"), .rport = 8080, .refused = (uint64_t)r->per_second * (sample + 4) / 5};
	if (!r->asked)
		return;
	remembered = snapshot_table_add(snapshot_table(snapshot, &remembered_type));
	*remembered = (struct remembered_record){.raddr = address("10.1.1.9"), .remembered = r->remembered};
}

static const char *look(struct refuser r)
{
	return look_at(put_sample, &r);
}

#define LOOK(...) look((struct refuser){__VA_ARGS__})

TEST(strangers_that_refuse_now_and_then)
{
	CHECK_EQ_TEXT(LOOK(.per_second = 1, .asked = true), "");
	CHECK_EQ_TEXT(LOOK(.per_second = 1, .asked = true, .remembered = true), "peer-refused peer:10.1.1.9:8080");
	CHECK_EQ_TEXT(LOOK(.per_second = 1), "peer-refused peer:10.1.1.9:8080");
	CHECK_EQ_TEXT(LOOK(.per_second = 5, .asked = true), "peer-refused peer:10.1.1.9:8080");
	CHECK_EQ_TEXT(LOOK(.per_second = 1, .asked = true, .still = true), "peer-refused peer:10.1.1.9:8080");
}
