/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The source of sockets: the kernel's socket diagnosis. */
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>

#include "base/clock.h"
#include "snapshot/scan.h"
#include "snapshot/sock_watch.h"
#include "snapshot/table_share.h"
#include "snapshot/worker.h"

#define EXT(attr) (1u << ((attr)-1))
#define EXT_TCP   (EXT(INET_DIAG_INFO) | EXT(INET_DIAG_SKMEMINFO) | EXT(INET_DIAG_CONG) | EXT(INET_DIAG_VEGASINFO))
#define EXT_UDP   EXT(INET_DIAG_SKMEMINFO)
/* Costs a fourteenth of a dump and is seldom looked at: not asked of very many. */
#define EXT_SERVICE (EXT(INET_DIAG_TOS) | EXT(INET_DIAG_TCLASS))
#define ALL_STATES  ((1u << SOCKET_STATES) - 2)
/* States in which somebody can be waiting. */
#define ACTIVE_STATES (ALL_STATES & ~(1u << SOCKET_TIME_WAIT | 1u << SOCKET_FIN_WAIT2 | 1u << SOCKET_CLOSE))

static const struct record_type *const types[] = {&socket_type, &tcp_type, NULL};

/* One of the halves that a large dump is divided into: what it asks, and where its answers go. */
struct half {
	struct snapshot *snapshot;
	struct socket_parse context;
	struct snapshot_table sockets, tcps; /* of a divided dump: views of the tables */
	unsigned index;
	unsigned halves; /* 1: not divided */
	uint32_t states;
	int result;
	struct why why;
	struct worker worker;
};

struct state {
	struct snapshot *other;         /* what the second thread works with; its tables stay empty */
	VEC(struct sock_watch) watches; /* one a namespace */
};

/*
 * Divides the sockets by their ports: one half has a port of the upper part of the ephemeral range on exactly one side. A
 * server's connections differ in the remote port, a client's in the local one; either way about half of them match.
 */
#define DIVIDING_PORT 46884

static void put_division(struct nlmsghdr *request, bool second)
{
	unsigned char here = second ? INET_DIAG_BC_D_GE : INET_DIAG_BC_D_LE;
	unsigned char there = second ? INET_DIAG_BC_D_LE : INET_DIAG_BC_D_GE;
	/* code, offset if it holds, offset if not; the operand of a port comparison follows it. Offset of the end: accept;
	 * four beyond: refuse. */
	struct inet_diag_bc_op program[] = {
		{INET_DIAG_BC_S_GE, 8, 20},
		{0, 0, DIVIDING_PORT},
		{here, 8, 24},
		{0, 0, second ? DIVIDING_PORT : DIVIDING_PORT - 1},
		{INET_DIAG_BC_JMP, 4, 12},
		{there, 8, 12},
		{0, 0, second ? DIVIDING_PORT - 1 : DIVIDING_PORT},
	};

	mnl_attr_put(request, INET_DIAG_REQ_BYTECODE, sizeof(program), program);
}

static int ask(struct half *half, struct nlmsghdr *request)
{
	struct nl_question question = {
		.protocol = NETLINK_SOCK_DIAG,
		.request = request,
		.parse = socket_parse_message,
		.context = &half->context,
		.once = half->halves > 1,
	};

	if (half->halves > 1)
		put_division(request, half->index == 1);
	return nl_ask(half->snapshot, &question, &half->why);
}

static int ask_family(struct half *half, uint8_t family)
{
	struct nl_request room;
	struct inet_diag_req_v2 *req;
	struct nlmsghdr *request =
		nl_request_begin(&room, SOCK_DIAG_BY_FAMILY, NLM_F_DUMP, sizeof(*req), (void **)&req);

	req->sdiag_family = family;
	req->sdiag_protocol = half->context.proto;
	req->idiag_ext = (half->context.proto == IPPROTO_TCP ? EXT_TCP : EXT_UDP) | EXT_SERVICE;
	req->idiag_states = half->states;
	return ask(half, request);
}

/*
 * The oldest form of the question has no family and so gets both in one walk through the kernel's table of connections,
 * which is most of the cost on a host with few of them.
 */
static void ask_tcp(void *data)
{
	struct half *half = data;
	struct nl_request room;
	struct inet_diag_req *req;
	struct nlmsghdr *request = nl_request_begin(&room, TCPDIAG_GETSOCK, NLM_F_DUMP, sizeof(*req), (void **)&req);

	req->idiag_family = AF_UNSPEC;
	req->idiag_ext = half->halves > 1 ? EXT_TCP : EXT_TCP | EXT_SERVICE;
	req->idiag_states = half->states;
	half->result = ask(half, request);
	if (half->result == 0 || half->halves > 1)
		return;
	half->result = ask_family(half, AF_INET);
	if (half->result == 0)
		half->result = ask_family(half, AF_INET6);
}

static void ask_udp(struct half *half)
{
	int r6;

	half->context.proto = IPPROTO_UDP;
	half->result = ask_family(half, AF_INET);
	r6 = ask_family(half, AF_INET6);
	/* A kernel without IPv6 has no such sockets: nothing is lost. */
	if (half->result == 0 && r6 != -ENOENT)
		half->result = r6;
}

/*
 * "TCP: inuse 5 orphan 0 tw 3 alloc 7 mem 2": of the words behind the name, those allocated on the whole host, of both
 * families, and those that wait out their time here. 0 when it cannot be read.
 */
static uint64_t count_tcp(struct snapshot *snapshot)
{
	uint64_t waiting = 0, allocated = 0;
	const char *at;

	if (snapshot_read(snapshot, "/proc/thread-self/net/sockstat") < 0)
		return 0;
	at = strstr(buf_text(&snapshot->text), "\nTCP:");
	if (at) {
		at++;
		if (scan_skip(&at, 6) && scan_u64(&at, &waiting) && scan_skip(&at, 1))
			(void)scan_u64(&at, &allocated);
	}
	return waiting + allocated;
}

static struct half half_of(struct snapshot *snapshot, unsigned index, unsigned halves)
{
	return (struct half){
		.snapshot = snapshot,
		.context =
			{
				.proto = IPPROTO_TCP,
				.sockets = snapshot_table(snapshot, &socket_type),
				.tcps = snapshot_table(snapshot, &tcp_type),
			},
		.index = index,
		.halves = halves,
		.states = ALL_STATES,
	};
}

/* Parts that were moved have other numbers now. */
static void follow_moved(struct snapshot_table *sockets, size_t from, const struct table_move *move)
{
	for (size_t i = from; move->count > 0 && i < sockets->count; i++) {
		struct socket_record *socket = (struct socket_record *)sockets->items + i;

		if (socket->tcp != SOCKET_NONE && socket->tcp >= move->from)
			socket->tcp = (uint32_t)(socket->tcp - move->from + move->to);
	}
}

static int join_halves(struct snapshot *snapshot, const struct half *first, const struct half *second)
{
	struct snapshot_table *sockets = snapshot_table(snapshot, &socket_type),
			      *tcps = snapshot_table(snapshot, &tcp_type);
	size_t from = sockets->count, parts = tcps->count;
	struct table_move moved;
	int r = first->result < 0 ? first->result : second->result;

	if (r == 0)
		r = table_share_end(sockets, &first->sockets, &second->sockets, &moved);
	if (r == 0)
		r = table_share_end(tcps, &first->tcps, &second->tcps, &moved);
	if (r < 0) {
		sockets->count = from;
		tcps->count = parts;
		return r;
	}
	follow_moved(sockets, from, &moved);
	snapshot_each(second->snapshot, gap_type, const struct gap_record, gap)
		snapshot_gap(snapshot, gap->lost, "%s", gap->why);
	return 0;
}

/* Two threads, each with half of the sockets, into the same tables. */
static int collect_divided(struct snapshot *snapshot, size_t expected, uint32_t states)
{
	struct state *state = snapshot_state(snapshot);
	struct snapshot_table *sockets = snapshot_table(snapshot, &socket_type),
			      *tcps = snapshot_table(snapshot, &tcp_type);
	struct table_share socket_share, tcp_share;
	struct half halves[2];

	if (!state->other)
		state->other = snapshot_new();
	snapshot_clear(state->other);
	state->other->netns = snapshot->netns;
	state->other->source = snapshot->source;
	table_share_begin(&socket_share, sockets, expected);
	table_share_begin(&tcp_share, tcps, expected);
	for (unsigned i = 0; i < 2; i++) {
		halves[i] = half_of(i ? state->other : snapshot, i, 2);
		halves[i].states = states;
		halves[i].sockets = table_share_view(&socket_share, sockets);
		halves[i].tcps = table_share_view(&tcp_share, tcps);
		halves[i].context.sockets = &halves[i].sockets;
		halves[i].context.tcps = &halves[i].tcps;
	}
	worker_start(&halves[1].worker, ask_tcp, &halves[1]);
	ask_tcp(&halves[0]);
	worker_join(&halves[1].worker);
	return join_halves(snapshot, &halves[0], &halves[1]);
}

static int collect_tcp(struct snapshot *snapshot, struct half *whole)
{
	uint64_t expected = worker_cpus() > 1 ? count_tcp(snapshot) : 0;

	/* Where dividing does not work out, one thread does it all. */
	if (expected >= WORKER_WORTH && collect_divided(snapshot, expected, whole->states) == 0)
		return 0;
	ask_tcp(whole);
	return whole->result;
}

static struct sock_watch *watch_of(struct state *state, uint32_t netns)
{
	struct sock_watch *watch;

	vec_each(&state->watches, known)
		if (known->netns == netns)
			return known;
	watch = vec_add(&state->watches);
	watch->netns = netns;
	return watch;
}

/* Those on which something happens: all are read when it is time, else the ones that are known, and the listeners. */
static int collect_active(struct snapshot *snapshot, struct half *whole)
{
	struct sock_watch *watch = watch_of(snapshot_state(snapshot), snapshot->netns);
	size_t from = whole->context.sockets->count;
	uint64_t began = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	int r;

	if (sock_watch_due(watch)) {
		whole->states = ACTIVE_STATES;
		r = collect_tcp(snapshot, whole);
		if (r < 0)
			return r;
		sock_watch_remember(watch, snapshot, from, EXT_TCP);
		watch->ended_ns = clock_monotonic_ns();
		watch->took_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began;
	} else {
		r = sock_watch_again(watch, snapshot, &whole->context, &whole->why);
		if (r < 0)
			return r;
		whole->states = 1u << SOCKET_LISTEN;
		ask_tcp(whole);
		r = whole->result;
	}
	whole->states = ALL_STATES;
	return r;
}

static int collect(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	struct half whole = half_of(snapshot, 0, 1);
	int r;

	if (request->active_only && request->repeated)
		r = collect_active(snapshot, &whole);
	else
		r = collect_tcp(snapshot, &whole);
	if (r == 0) {
		ask_udp(&whole);
		r = whole.result;
	}
	*why = whole.why;
	return r;
}

static void release(void *data)
{
	struct state *state = data;

	snapshot_free(state->other);
	vec_each(&state->watches, watch)
		vec_done(&watch->active);
	vec_done(&state->watches);
}

static const struct snapshot_source sock_diag_source = {
	.name = "sock_diag",
	.lost = "sockets, their queues, timers and variables",
	.types = types,
	.stage = STAGE_SOCKETS,
	.per_netns = true,
	.state_size = sizeof(struct state),
	.collect = collect,
	.release = release,
};
SNAPSHOT_SOURCE(sock_diag_source);
