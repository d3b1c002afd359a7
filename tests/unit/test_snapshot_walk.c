/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is read out of the kernel's table of connections, beside what the kernel's socket
 * diagnosis tells about the same ones.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/ioctl.h>

#include "base/vec.h"
#include "snapshot/socket/sock_fast.h"
#include "unit.h"

#define PAIRS 40
#define PORT  7311

static void private_network(void)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	_cleanup_close_ int fd = -1;

	if (unshare(CLONE_NEWNET) < 0)
		SKIP("needs a network namespace of its own (root)");
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	REQUIRE(fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &lo) == 0);
}

struct pair {
	int client, server;
};

static struct pair make_pair(int listener, const struct sockaddr_in6 *to, const char *control)
{
	struct pair pair = {.client = socket(to->sin6_family, SOCK_STREAM | SOCK_CLOEXEC, 0)};

	REQUIRE(pair.client >= 0);
	REQUIRE(setsockopt(pair.client, IPPROTO_TCP, TCP_CONGESTION, control, (socklen_t)strlen(control)) == 0);
	REQUIRE(connect(pair.client, (const struct sockaddr *)to, sizeof(*to)) == 0);
	pair.server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	REQUIRE(pair.server >= 0);
	return pair;
}

/* Idle connections of every kind: both families, data in flight, half closed, with timers and options. */
static void make_connections(struct pair pairs[PAIRS])
{
	struct sockaddr_in6 to = {.sin6_family = AF_INET6, .sin6_port = htons(PORT), .sin6_addr = in6addr_loopback};
	struct sockaddr_in6 mapped = to;
	int listener = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1, small = 4096;
	static const char bytes[200000];

	mapped.sin6_addr = (struct in6_addr){{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}}};
	to.sin6_addr = in6addr_any;
	REQUIRE(bind(listener, (struct sockaddr *)&to, sizeof(to)) == 0 && listen(listener, 16) == 0);
	to.sin6_addr = in6addr_loopback;
	for (unsigned i = 0; i < PAIRS; i++) {
		struct pair *pair = &pairs[i];

		*pair = make_pair(listener, i % 3 ? &to : &mapped, i % 2 ? "cubic" : "reno");
		if (i % 4 == 0)
			REQUIRE(write(pair->client, bytes, 1000 + i) > 0);
		if (i % 4 == 1) {
			REQUIRE(write(pair->server, bytes, 70) > 0);
			REQUIRE(recv(pair->client, (char[100]){}, 100, 0) > 0);
		}
		if (i % 5 == 2)
			REQUIRE(setsockopt(pair->client, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one)) == 0);
		if (i % 7 == 3)
			REQUIRE(setsockopt(pair->server, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)) == 0);
		if (i % 8 == 5)
			REQUIRE(setsockopt(pair->client, SOL_SOCKET, SO_MARK, &i, sizeof(i)) == 0);
		if (i % 10 == 9)
			REQUIRE(shutdown(pair->client, SHUT_WR) == 0);
	}
	/* A reader that reads nothing: the window closes, and the sender asks again and again. */
	REQUIRE(setsockopt(pairs[0].client, SOL_SOCKET, SO_SNDTIMEO, &(struct timeval){.tv_usec = 100000},
			   sizeof(struct timeval)) == 0);
	for (unsigned i = 0; i < 100 && write(pairs[0].client, bytes, sizeof(bytes)) > 0; i++)
		;
}

static const struct socket_record *find(const struct snapshot *snapshot, uint64_t cookie)
{
	snapshot_each(snapshot, socket_type, const struct socket_record, socket)
		if (socket->cookie == cookie)
			return socket;
	return NULL;
}

/* Times that pass on between two looks. */
static bool moves(const struct field *field)
{
	static const char *const names[] = {"last_sent_ns", "last_received_ns", "last_ack_ns",
					    "timer_ns",     "busy_ns",          "rwnd_limited_ns"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(field->name, names[i]) == 0)
			return true;
	return false;
}

/* Marks of a packet: one of the two sources may not know them. */
static bool may_be_unknown(const struct field *field)
{
	return strcmp(field->name, "tos") == 0 || strcmp(field->name, "tclass") == 0;
}

/* The kernel counts these times in ticks: 10 ms at most. */
#define TICK_NS UINT64_C(10000000)

/* What was read between two reports lies between them. */
static bool is_between(uint64_t value, uint64_t a, uint64_t b)
{
	return value + TICK_NS >= min_of(a, b) && value <= max_of(a, b) + TICK_NS;
}

static void compare(const struct record_type *type, const void *before, const void *read, const void *after)
{
	for (uint32_t i = 0; i < type->field_count; i++) {
		const struct field *field = &type->fields[i];
		struct value a = value_get(field, read), b = value_get(field, after), c = value_get(field, before);

		unit_note("%s.%s", type->name, field->name);
		if (may_be_unknown(field) && (a.class == VALUE_UNKNOWN || b.class == VALUE_UNKNOWN))
			continue;
		CHECK_EQ_UINT(a.class, b.class);
		if (moves(field) && a.class == VALUE_UINT && c.class == VALUE_UINT)
			CHECK(is_between(a.uint, c.uint, b.uint));
		else if (a.class == VALUE_UINT)
			CHECK_EQ_UINT(a.uint, b.uint);
		else if (a.class == VALUE_TEXT)
			CHECK(a.len == b.len && memcmp(a.text, b.text, a.len) == 0);
		else if (a.class == VALUE_ADDR)
			CHECK(memcmp(a.addr, b.addr, sizeof(*a.addr)) == 0);
	}
}

static void look(struct sock_fast *fast, struct snapshot *snapshot, struct sock_fast_request *request)
{
	struct why why = {};
	int r;

	snapshot_clear(snapshot);
	r = sock_fast_collect(fast, snapshot, request, &why);
	if (r == -EPERM || r == -ENOENT)
		SKIP("%s", why.text);
	CHECK_OK(r);
}

/* A timer may send a probe between two reports: whether none did. */
static bool is_at_rest(const struct snapshot *before, const struct snapshot *after)
{
	snapshot_each(after, socket_type, struct socket_record, socket) {
		const struct socket_record *same = find(before, socket->cookie);
		const struct tcp_record *now = socket_tcp(after, socket),
					*then = same ? socket_tcp(before, same) : NULL;

		if (!same || same->state != socket->state || (!now != !then))
			return false;
		if (now &&
		    (now->segs_out != then->segs_out || now->segs_in != then->segs_in || now->backoff != then->backoff))
			return false;
	}
	return true;
}

static void report(struct snapshot *snapshot, const struct record_type *const *types)
{
	struct why why = {};

	REQUIRE(snapshot_take(snapshot, &(struct snapshot_request){.types = types, .no_bpf = true}, &why) == 0);
}

TEST(what_is_read_is_what_the_kernel_tells)
{
	static const struct record_type *const types[] = {&socket_type, &tcp_type, NULL};
	_cleanup_snapshot_ struct snapshot *read = snapshot_new(), *before = snapshot_new(), *reported = snapshot_new();
	struct socket_parse context = {.proto = IPPROTO_TCP};
	struct sock_fast_request request = {
		.context = &context, .states = (1u << SOCKET_STATES) - 2, .expected = 2 * PAIRS + 1, .with_tcp = true};
	struct sock_fast fast = {};
	struct pair pairs[PAIRS];
	unsigned compared = 0, rest = 0, tries = 0, limited = 0;

	private_network();
	make_connections(pairs);
	context.sockets = snapshot_table(read, &socket_type);
	context.tcps = snapshot_table(read, &tcp_type);
	/* At first none of them has a cookie: they are asked for one by one. The second time they are read. */
	look(&fast, read, &request);
	CHECK(context.sockets->count >= 2 * PAIRS - PAIRS / 10);
	do {
		report(before, types);
		look(&fast, read, &request);
		report(reported, types);
	} while (!is_at_rest(before, reported) && ++tries < 50);
	CHECK(request.rest & 1u << SOCKET_LISTEN);
	snapshot_each(reported, socket_type, struct socket_record, socket) {
		const struct socket_record *same = find(read, socket->cookie), *first = find(before, socket->cookie);

		unit_note("lport %u rport %u state %u", socket->lport, socket->rport, socket->state);
		if (socket->proto != IPPROTO_TCP || request.rest & 1u << socket->state) {
			CHECK(!same);
			rest++;
			continue;
		}
		REQUIRE(same && first);
		socket->netns = same->netns; /* nobody reported the first one where it is */
		compare(&socket_type, first, same, socket);
		REQUIRE(socket_tcp(read, same) && socket_tcp(reported, socket));
		compare(&tcp_type, socket_tcp(before, first), socket_tcp(read, same), socket_tcp(reported, socket));
		limited += socket_tcp(reported, socket)->rwnd_limited_ns > 50000000;
		compared++;
	}
	CHECK_EQ_UINT(compared, context.sockets->count);
	CHECK_EQ_UINT(compared + rest, snapshot_table(reported, &socket_type)->count);
	CHECK(compared >= 2 * PAIRS - 2 * (PAIRS / 10));
	/* The one whose reader reads nothing: mistaken for another time, it would not lie between. */
	CHECK(limited >= 1);
	sock_fast_done(&fast);
}
