/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples of few connections, read one by one between dumps, beside dumps. */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "snapshot/socket/sock_known.h"
#include "unit.h"

static const struct record_type *const types[] = {&socket_type, &tcp_type, NULL};

static void private_network(void)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	_cleanup_close_ int fd = -1;

	if (unshare(CLONE_NEWNET) < 0)
		SKIP("needs a network namespace of its own (root)");
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	REQUIRE(fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &lo) == 0);
}

/* A pair of connected sockets; of IPv6, or of both with an IPv4-mapped address. */
struct pair {
	int listener, client, server;
};

static struct pair connect_pair(uint16_t port, bool mapped)
{
	struct sockaddr_in6 at = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	struct sockaddr_in to4 = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
	struct sockaddr_in6 to6 = {.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = in6addr_loopback};
	struct pair pair = {.listener = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0),
			    .client = socket(mapped ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0)};

	CHECK_OK(bind(pair.listener, (struct sockaddr *)&at, sizeof(at)));
	CHECK_OK(listen(pair.listener, 8));
	CHECK_OK(connect(pair.client, mapped ? (struct sockaddr *)&to4 : (struct sockaddr *)&to6,
			 mapped ? sizeof(to4) : sizeof(to6)));
	pair.server = accept(pair.listener, NULL, NULL);
	CHECK(pair.server >= 0);
	return pair;
}

static void take(struct snapshot *snapshot, bool repeated)
{
	struct snapshot_request request = {.types = types, .repeated = repeated};
	struct why why = {};

	CHECK_OK(snapshot_take(snapshot, &request, &why));
	CHECK_EQ_UINT(snapshot_table(snapshot, &gap_type)->count, 0);
}

static const struct socket_record *find(const struct snapshot *snapshot, uint64_t cookie)
{
	snapshot_each(snapshot, socket_type, const struct socket_record, s)
		if (s->cookie == cookie)
			return s;
	return NULL;
}

static void check_same(const struct snapshot *snapshot, const struct snapshot *dump)
{
	CHECK_EQ_UINT(snapshot_table(snapshot, &socket_type)->count, snapshot_table(dump, &socket_type)->count);
	snapshot_each(dump, socket_type, const struct socket_record, s) {
		const struct socket_record *other = find(snapshot, s->cookie);
		const struct tcp_record *a = socket_tcp(dump, s), *b = other ? socket_tcp(snapshot, other) : NULL;
		struct socket_record x = *s, y;

		unit_note("port %u to %u, state %u", s->lport, s->rport, s->state);
		if (!CHECK(other) || !CHECK(!a == !b))
			continue;
		y = *other;
		/* Positions, and what goes on. */
		x.tcp = y.tcp;
		x.timer_ns = y.timer_ns;
		CHECK(memcmp(&x, &y, sizeof(x)) == 0);
		if (a) {
			CHECK_EQ_UINT(a->bytes_sent, b->bytes_sent);
			CHECK_EQ_UINT(a->bytes_received, b->bytes_received);
			CHECK_EQ_UINT(a->unacked, b->unacked);
		}
	}
}

/* Until the peer has acknowledged what was closed. */
static void settle(void)
{
	_cleanup_snapshot_ struct snapshot *dump = snapshot_new();

	for (unsigned try = 0; try < 500; try++) {
		bool closing = false;

		take(dump, false);
		snapshot_each(dump, socket_type, const struct socket_record, s)
			closing |= s->state == SOCKET_FIN_WAIT1 || s->state == SOCKET_LAST_ACK;
		if (!closing)
			return;
		(void)nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	}
}

static void check_sample(struct snapshot *snapshot)
{
	_cleanup_snapshot_ struct snapshot *dump = snapshot_new();

	settle();
	take(snapshot, true);
	take(dump, false);
	check_same(snapshot, dump);
}

TEST(samples_between_dumps_are_complete)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct pair mapped, six, late;
	char data[100] = {};

	private_network();
	mapped = connect_pair(7001, true);
	six = connect_pair(7002, false);
	for (unsigned i = 0; i < 3; i++)
		check_sample(snapshot);
	CHECK(write(mapped.client, data, sizeof(data)) == (ssize_t)sizeof(data));
	check_sample(snapshot);
	/* One more, and one that becomes TIME-WAIT. */
	late = connect_pair(7003, false);
	check_sample(snapshot);
	(void)close(six.client);
	(void)close(six.server);
	check_sample(snapshot);
	(void)close(late.client);
	check_sample(snapshot);
	(void)close(mapped.listener);
	check_sample(snapshot);
}

TEST(opened_connections_are_read)
{
	CHECK_EQ_UINT(sock_known_parse_opens("Ip: a\nIp: 1\nTcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens "
					     "PassiveOpens\nTcp: 1 200 120000 -1 11 22\nUdp: x\n"),
		      33);
	CHECK_EQ_UINT(sock_known_parse_opens(""), UINT64_MAX);
	CHECK_EQ_UINT(sock_known_parse_opens("Ip: 1\nTcp: RtoAlgorithm\n"), UINT64_MAX);
	CHECK_EQ_UINT(sock_known_parse_opens("Ip: 1\nTcp: a\nTcp: 1 200\n"), UINT64_MAX);
	CHECK_EQ_UINT(sock_known_parse_opens("Ip: 1\nTcp: a\nTcp: 1 200 3 -1 x 4\n"), UINT64_MAX);
}

TEST(known_connections_suffice_until_one_is_opened)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct snapshot_table *sockets = snapshot_table(snapshot, &socket_type);
	struct sock_known known = {};
	uint64_t now_ns = 5 * NSEC_PER_SEC;

	CHECK(!sock_known_suffices(&known, 0, now_ns, NSEC_PER_SEC));
	for (unsigned i = 0; i < 3; i++)
		((struct socket_record *)snapshot_table_add(sockets))->state =
			i == 1 ? SOCKET_LISTEN : SOCKET_ESTABLISHED;
	sock_known_remember(&known, snapshot, 0, 0, 7, now_ns);
	CHECK_EQ_UINT(known.questions.count, 2);
	CHECK(sock_known_suffices(&known, 7, now_ns, NSEC_PER_SEC));
	CHECK(!sock_known_suffices(&known, 8, now_ns, NSEC_PER_SEC));
	CHECK(!sock_known_suffices(&known, UINT64_MAX, now_ns, NSEC_PER_SEC));
	CHECK(!sock_known_suffices(&known, 7, now_ns + NSEC_PER_SEC, NSEC_PER_SEC));
	/* Too many. */
	for (unsigned i = 0; i < 200; i++)
		((struct socket_record *)snapshot_table_add(sockets))->state = SOCKET_ESTABLISHED;
	sock_known_remember(&known, snapshot, 0, 0, 7, now_ns);
	CHECK(!sock_known_suffices(&known, 7, now_ns, NSEC_PER_SEC));
	/* Not known how many were opened. */
	snapshot_clear(snapshot);
	sock_known_remember(&known, snapshot, 0, 0, UINT64_MAX, now_ns);
	CHECK(!sock_known_suffices(&known, UINT64_MAX, now_ns, NSEC_PER_SEC));
	vec_done(&known.questions);
}
