/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Name servers: those that resolv.conf names and those that are asked on the wire (probe/wire.h), how they answer, who
 * leans on them. A name server lies behind a path like any other host.
 */
#include "diagnose/measure/nameserver.h"
#include <math.h>

#include "diagnose/graph/window.h"
#include "diagnose/measure/conn.h"
#include "diagnose/measure/endpoint.h"
#include "probe/wire.h"
#include "snapshot/core/delta.h"
#include "snapshot/proc/process.h"
#include "snapshot/proc/resolver.h"
#include "snapshot/socket/owner.h"
#include "snapshot/socket/socket.h"

#define PORT_DNS          53
#define PORT_DNS_OVER_TLS 853

#define R                 struct resolver_measures
static const struct field resolver_fields[] = {
	FIELD(R, raddr, ADDR, "the name server"),
	FIELD(R, dns_queries, COUNT, "queries sent to it"),
	FIELD(R, dns_answers, COUNT, "answers from it"),
	FIELD(R, dns_failures, COUNT, "of these, failures of the server (SERVFAIL, REFUSED)"),
	FIELD(R, dns_unreachable, COUNT, "queries answered by ICMP unreachable"),
	FIELD(R, dns_slow_share, RATIO, "share of the answers that took more than 200 ms", .unit = "%"),
	FIELD(R, dns_slow_recent, COUNT, "such answers in this window and the two before"),
	FIELD(R, dns_overdue_recent, COUNT, "queries without an answer after 300 ms, in the same windows"),
	FIELD(R, dns_answers_recent, COUNT, "answers in the same windows"),
	FIELD(R, dns_overdue_share, RATIO, "overdue share of the queries in the same windows", .unit = "%"),
	FIELD(R, dns_latency_ns, DURATION, "mean response time"),
	FIELD(R, dns_rtts, RATIO,
	      "that or the longest wait in the last three windows, as a multiple of the minimum RTT of connections to "
	      "the "
	      "same host, or of the nearest host if there are none"),
	FIELD(R, dns_pending, COUNT, "unanswered queries, at the end"),
	FIELD(R, dns_wait_ns, DURATION, "age of the oldest of these"),
	FIELD(R, dns_socket_wait_ns, DURATION,
	      "for how long a program has waited in poll or receive with the same socket connected to it, and no "
	      "answer"),
	FIELD(R, dns_upstream_late, COUNT,
	      "for a name server on this host: upstream servers that answer late or not at all"),
};
#undef R
RECORD_TYPE(resolver_measures_type, "measure.resolver", struct resolver_measures, resolver_fields,
	    "measures of a name server in a window");

/* Windows that are added up: what one client asks in a second is little. */
#define WINDOWS 3
/* Sockets connected to name servers that are looked at. */
#define WAITING_MAX 64

/* Of one window. */
struct recent {
	uint64_t queries, answers, slow, overdue;
};

struct server_track {
	struct track track;
	struct lookup_record base, last;
	struct recent before[WINDOWS - 1]; /* newest first */
	uint64_t answered_ns;              /* boot time of the sample with its last answer; 0: none */
	uint64_t socket_wait_ns;           /* of the last sample */
	uint64_t longest_ns[WINDOWS];      /* wait or response time of the last windows, newest first */
};

/* A socket connected to a name server, while a program waits for it. */
struct waiting_track {
	struct track track;
	uint64_t since_ns; /* boot time of the first sample in which it waited; 0: it does not */
};

struct state {
	struct addr configured[RESOLVERS_MAX];
	unsigned count;
	struct map asked;     /* address -> server_track */
	struct map waiting;   /* cookie -> waiting_track */
	uint64_t poll, ppoll; /* numbers of these system calls */
};

static const struct state initial = {.asked = MAP_INIT(sizeof(struct addr), sizeof(struct server_track), 10000),
				     .waiting = MAP_INIT(sizeof(uint64_t), sizeof(struct waiting_track), 10000)};

/* Counters of one that is new began at zero when it was first seen. */
static struct server_track *see_server(const struct window *window, struct state *state, const struct addr *raddr)
{
	struct server_track *server = map_put(&state->asked, raddr, NULL);

	if (!server)
		return NULL;
	if (track_see(window, &server->track))
		server->base = server->last;
	server->last.raddr = *raddr;
	return server;
}

/* --- lookups that began before the run: their query is on no wire, but the program still waits --- */

/*
 * The resolver of the C library opens a socket for each lookup, waits for it in poll, and closes it with the answer. A
 * program that keeps such a socket open waits in epoll, for this one among others.
 */
static bool waits_in_poll(const struct state *state, const struct snapshot *snapshot, const struct owner_record *owner)
{
	snapshot_each(snapshot, thread_type, const struct thread_record, t) {
		if (t->pid != owner->pid || t->thread_state != 'S' || t->syscall == UINT16_MAX)
			continue;
		if (t->syscall == state->poll || t->syscall == state->ppoll || t->syscall_fd == owner->fd)
			return true;
	}
	return false;
}

static const struct owner_record *owner_of(const struct snapshot *snapshot, uint32_t inode)
{
	snapshot_each(snapshot, owner_type, const struct owner_record, owner)
		if (owner->inode == inode)
			return owner;
	return NULL;
}

static bool is_waited_for(const struct state *state, const struct snapshot *snapshot, const struct socket_record *s)
{
	const struct owner_record *owner = s->inode && s->recvq_bytes == 0 ? owner_of(snapshot, s->inode) : NULL;

	return owner && waits_in_poll(state, snapshot, owner);
}

static void note_waiting(const struct window *window, struct state *state, const struct socket_record *s, bool waits,
			 uint64_t now_ns)
{
	struct waiting_track *waiting = map_put(&state->waiting, &s->cookie, NULL);
	struct server_track *server;

	if (!waiting)
		return;
	(void)track_see(window, &waiting->track);
	if (!waits || !waiting->since_ns)
		waiting->since_ns = waits ? now_ns : 0;
	server = waits ? see_server(window, state, &s->raddr) : NULL;
	if (server)
		server->socket_wait_ns =
			max_of(server->socket_wait_ns, now_ns - max_of(waiting->since_ns, server->answered_ns));
}

static void sample_waiting(const struct window *window, struct state *state, const struct snapshot *snapshot)
{
	uint64_t now_ns = snapshot->sockets_boot_ns ?: snapshot->begin_boot_ns;
	unsigned left = WAITING_MAX;
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&state->asked, &at, &key, &value))
		((struct server_track *)value)->socket_wait_ns = 0;
	snapshot_each(snapshot, socket_type, const struct socket_record, s)
		if (s->proto == 17 && s->rport == PORT_DNS && s->cookie != UINT64_MAX && left && left--)
			note_waiting(window, state, s, is_waited_for(state, snapshot, s), now_ns);
}

static void note_lookup(const struct window *window, struct state *state, const struct lookup_record *lookup,
			uint64_t now_ns)
{
	struct server_track *server = see_server(window, state, &lookup->raddr);

	if (!server)
		return;
	if (lookup->answers != server->last.answers)
		server->answered_ns = now_ns;
	server->last = *lookup;
}

static void find_calls(struct state *state)
{
	state->poll = state->ppoll = UINT64_MAX;
	(void)!enum_value_find(&syscall_names, "poll", &state->poll);
	(void)!enum_value_find(&syscall_names, "ppoll", &state->ppoll);
}

static void sample(struct window *window, void *data, const struct snapshot *snapshot)
{
	struct state *state = data;

	if (!state->ppoll)
		find_calls(state);
	state->count = 0;
	snapshot_each(snapshot, resolver_type, const struct resolver_record, r)
		if (state->count < RESOLVERS_MAX)
			state->configured[state->count++] = r->raddr;
	snapshot_each(snapshot, lookup_type, const struct lookup_record, lookup)
		note_lookup(window, state, lookup, snapshot->sockets_boot_ns ?: snapshot->begin_boot_ns);
	sample_waiting(window, state, snapshot);
}

/* --- who leans on those of resolv.conf --- */

static const struct addr *asked_server(const struct module *socket)
{
	const struct conn_measures *conn = socket->measures.conn;
	const struct udp_measures *udp = socket->measures.udp;
	uint16_t port = conn ? conn->rport : udp ? udp->rport : 0;

	if (port != PORT_DNS && port != PORT_DNS_OVER_TLS)
		return NULL;
	return conn ? &conn->raddr : &udp->raddr;
}

static void join(struct graph *graph, struct module *server, const struct addr *address)
{
	for (size_t i = 0; i < graph->modules.count; i++) {
		struct module *socket = graph->modules.items[i];
		const struct addr *asked = asked_server(socket);

		if (!asked || !addr_equal(asked, address))
			continue;
		socket->related[MODULE_RESOLVER] = server;
		if (socket->related[MODULE_APP]) {
			socket->related[MODULE_APP]->related[MODULE_RESOLVER] = server;
			graph_add_edge(socket->related[MODULE_APP], server);
		}
		graph_add_edge(server, socket);
	}
}

static void add_configured(const struct state *state, struct graph *graph)
{
	for (unsigned i = 0; i < state->count; i++) {
		char id[ADDR_TEXT_MAX + 16] = "resolver:";
		struct module *path, *server;

		addr_format(&state->configured[i], id + strlen("resolver:"));
		server = graph_module(graph, MODULE_RESOLVER, id, id + strlen("resolver:"));
		join(graph, server, &state->configured[i]);
		memcpy(id, "path:", strlen("path:"));
		addr_format(&state->configured[i], id + strlen("path:"));
		path = graph_find(graph, id);
		if (path) {
			server->related[MODULE_PATH] = path;
			graph_add_edge(server, path);
		}
	}
}

/* --- how they answer --- */

static uint64_t moved(uint64_t before, uint64_t after)
{
	uint64_t delta = delta_between(before, after);

	return delta == UINT64_MAX ? 0 : delta;
}

static void measure_recent(struct server_track *s, struct resolver_measures *m)
{
	const struct lookup_record *a = &s->base, *b = &s->last;
	struct recent now = {moved(a->queries, b->queries), moved(a->answers, b->answers),
			     moved(a->slow_answers, b->slow_answers), moved(a->overdue, b->overdue)};
	struct recent all = now;

	for (unsigned i = 0; i < WINDOWS - 1; i++) {
		all.queries += s->before[i].queries;
		all.answers += s->before[i].answers;
		all.slow += s->before[i].slow;
		all.overdue += s->before[i].overdue;
	}
	m->dns_slow_recent = all.slow;
	m->dns_answers_recent = all.answers;
	m->dns_overdue_recent = all.overdue;
	m->dns_overdue_share = all.queries > 0 ? fmin(1, (double)all.overdue / (double)all.queries) : NAN;
	memmove(&s->before[1], &s->before[0], sizeof(s->before) - sizeof(s->before[0]));
	s->before[0] = now;
}

/* Nothing beyond this host is nearer than the nearest connection. */
static uint64_t min_rtt_of(const struct graph *graph, const struct addr *raddr)
{
	uint64_t same = UINT64_MAX, any = UINT64_MAX;

	vec_each(&graph->modules, at) {
		const struct conn_measures *conn = (*at)->kind == MODULE_CONN ? (*at)->measures.conn : NULL;

		if (!conn || conn->min_rtt_ns == UINT64_MAX || addr_is_loopback(&conn->raddr))
			continue;
		any = min_of(any, conn->min_rtt_ns);
		if (addr_equal(&conn->raddr, raddr))
			same = min_of(same, conn->min_rtt_ns);
	}
	return same != UINT64_MAX ? same : any;
}

static uint64_t known_or_zero(uint64_t value)
{
	return value == UINT64_MAX ? 0 : value;
}

static void measure_distance(struct server_track *s, const struct graph *graph, struct resolver_measures *m)
{
	uint64_t rtt_ns = min_rtt_of(graph, &m->raddr), longest_ns = 0;

	memmove(&s->longest_ns[1], &s->longest_ns[0], sizeof(s->longest_ns) - sizeof(s->longest_ns[0]));
	s->longest_ns[0] = max_of(known_or_zero(m->dns_latency_ns), known_or_zero(m->dns_wait_ns));
	s->longest_ns[0] = max_of(s->longest_ns[0], s->socket_wait_ns);
	for (unsigned i = 0; i < WINDOWS; i++)
		longest_ns = max_of(longest_ns, s->longest_ns[i]);
	m->dns_rtts =
		longest_ns == 0 || rtt_ns == 0 || rtt_ns == UINT64_MAX ? NAN : (double)longest_ns / (double)rtt_ns;
}

static struct resolver_measures *measure_server(struct server_track *s, struct graph *graph)
{
	const struct lookup_record *a = &s->base, *b = &s->last;
	struct resolver_measures *m = graph_alloc(graph, sizeof(*m));
	uint64_t slow = delta_between(a->slow_answers, b->slow_answers),
		 took = delta_between(a->answer_ns, b->answer_ns);

	m->raddr = b->raddr;
	m->dns_queries = delta_between(a->queries, b->queries);
	m->dns_answers = delta_between(a->answers, b->answers);
	m->dns_failures = delta_between(a->failures, b->failures);
	m->dns_unreachable = delta_between(a->unreachable, b->unreachable);
	m->dns_slow_share = NAN;
	m->dns_latency_ns = UINT64_MAX;
	if (m->dns_answers != UINT64_MAX && m->dns_answers > 0 && slow != UINT64_MAX && took != UINT64_MAX) {
		m->dns_slow_share = (double)slow / (double)m->dns_answers;
		m->dns_latency_ns = took / m->dns_answers;
	}
	measure_recent(s, m);
	m->dns_pending = b->pending;
	m->dns_wait_ns = b->pending ? b->oldest_ns : UINT64_MAX;
	m->dns_socket_wait_ns = s->socket_wait_ns ? s->socket_wait_ns : UINT64_MAX;
	measure_distance(s, graph, m);
	return m;
}

static bool is_late(const struct resolver_measures *m)
{
	return m->dns_unreachable > 0 || m->dns_slow_share >= 0.5 ||
	       (m->dns_answers == 0 && m->dns_wait_ns != UINT64_MAX && m->dns_wait_ns > WIRE_SLOW_NS);
}

static void add_asked(const struct window *window, struct state *state, struct graph *graph)
{
	VEC(struct resolver_measures *) all = {};
	uint64_t late = 0;

	track_each(window, &state->asked, struct server_track, server)
	{
		char id[ADDR_TEXT_MAX + 16] = "resolver:";
		struct module *module;

		addr_format(&server->last.raddr, id + strlen(id));
		module = graph_module(graph, MODULE_RESOLVER, id, id + strlen("resolver:"));
		vec_push(&all, measure_server(server, graph));
		module->measures.resolver = all.items[all.count - 1];
		module->activity = all.items[all.count - 1]->dns_pending > 0 || server->socket_wait_ns > 0
					   ? ACTIVITY_WAITING
					   : ACTIVITY_UNKNOWN;
		late += is_late(all.items[all.count - 1]) && !addr_is_loopback(&server->last.raddr);
	}
	vec_each(&all, m)
		(*m)->dns_upstream_late = addr_is_loopback(&(*m)->raddr) ? late : 0;
	vec_done(&all);
}

static void finish(struct window *window, void *data, struct graph *graph)
{
	struct state *state = data;

	add_configured(state, graph);
	add_asked(window, state, graph);
	track_forget(window, &state->asked, NULL);
	track_forget(window, &state->waiting, NULL);
}

static void release(void *data)
{
	map_done(&((struct state *)data)->asked);
	map_done(&((struct state *)data)->waiting);
}

static const struct measurer nameserver_measurer = {
	.name = "nameserver",
	.stage = MEASURE_PATH,
	.needs = MEASURER_NEEDS(&resolver_type, &lookup_type, &socket_type, &owner_type, &thread_type),
	.state_size = sizeof(struct state),
	.initial = &initial,
	.sample = sample,
	.finish = finish,
	.release = release,
};
MEASURER(nameserver_measurer);
