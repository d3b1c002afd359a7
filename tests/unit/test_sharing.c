/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sockets that share a port, on snapshots made by hand: workers 1 to 3, of which one is behind. */
#include "look.h"

#include "snapshot/socket/socket.h"

struct workers {
	uint8_t proto;
	unsigned count;
	unsigned slow; /* which one, from 1 on; 0: none */
};

static void put_sample(struct snapshot *snapshot, unsigned sample, const void *context)
{
	const struct workers *workers = context;

	for (unsigned i = 1; i <= workers->count; i++) {
		struct socket_record *s = snapshot_table_add(snapshot_table(snapshot, &socket_type));
		bool slow = i == workers->slow;

		s->proto = workers->proto;
		s->state = workers->proto == 6 ? SOCKET_LISTEN : SOCKET_CLOSE;
		REQUIRE(addr_parse("0.0.0.0", &s->laddr) == 0);
		s->lport = 5060;
		s->cookie = i;
		s->inode = 70 + i;
		s->recvq_bytes = slow ? 40000 : 0;
		s->sendq_bytes = 0;
		s->rcvbuf = 40000;
		s->drops = slow ? sample * 20 : 0;
		s->backlog = slow ? 9 : 0;
		s->backlog_max = 8;
	}
}

static const char *look(struct workers workers)
{
	return look_at(put_sample, &workers);
}

#define LOOK(...) look((struct workers){__VA_ARGS__})

TEST(each_worker_has_its_queue)
{
	CHECK_EQ_TEXT(LOOK(.proto = 17, .count = 3, .slow = 1), "udp-receive-overflow udp:0.0.0.0:5060#71");
	CHECK_EQ_TEXT(LOOK(.proto = 17, .count = 3, .slow = 2), "udp-receive-overflow udp:0.0.0.0:5060#72");
	CHECK_EQ_TEXT(LOOK(.proto = 17, .count = 3, .slow = 3), "udp-receive-overflow udp:0.0.0.0:5060#73");
	CHECK_EQ_TEXT(LOOK(.proto = 17, .count = 3), "");
	CHECK_EQ_TEXT(LOOK(.proto = 6, .count = 3, .slow = 2), "accept-queue-full listener:0.0.0.0:5060#72");
}

TEST(one_alone_needs_no_number)
{
	CHECK_EQ_TEXT(LOOK(.proto = 17, .count = 1, .slow = 1), "udp-receive-overflow udp:0.0.0.0:5060");
	CHECK_EQ_TEXT(LOOK(.proto = 6, .count = 1, .slow = 1), "accept-queue-full listener:0.0.0.0:5060");
}
