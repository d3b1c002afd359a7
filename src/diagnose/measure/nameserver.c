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
#include "snapshot/proc/resolver.h"

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
	FIELD(R, dns_latency_ns, DURATION, "mean response time"),
	FIELD(R, dns_pending, COUNT, "unanswered queries, at the end"),
	FIELD(R, dns_wait_ns, DURATION, "age of the oldest of these"),
	FIELD(R, dns_upstream_late, COUNT,
	      "of a name server on this host: others, farther away, that answer late or not at all"),
};
#undef R
RECORD_TYPE(resolver_measures_type, "measure.resolver", struct resolver_measures, resolver_fields,
	    "measures of a name server in a window");

struct server_track {
	struct track track;
	struct lookup_record base, last;
	uint64_t slow_before[2]; /* slow answers of the windows before */
};

struct state {
	struct addr configured[RESOLVERS_MAX];
	unsigned count;
	struct map asked; /* address -> server_track */
};

static const struct state initial = {.asked = MAP_INIT(sizeof(struct addr), sizeof(struct server_track), 10000)};

/* Counters of one that is new began at zero when it was first seen. */
static void sample(struct window *window, void *data, const struct snapshot *snapshot)
{
	struct state *state = data;

	state->count = 0;
	snapshot_each(snapshot, resolver_type, const struct resolver_record, r)
		if (state->count < RESOLVERS_MAX)
			state->configured[state->count++] = r->raddr;
	snapshot_each(snapshot, lookup_type, struct lookup_record, lookup) {
		struct server_track *server = map_put(&state->asked, &lookup->raddr, NULL);

		if (!server)
			continue;
		if (track_see(window, &server->track))
			server->base = server->last;
		server->last = *lookup;
	}
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

static bool is_loopback(const struct addr *addr)
{
	static const uint8_t six[16] = {[15] = 1};

	return addr->family == ADDR_V4 ? addr->bytes[12] == 127 : memcmp(addr->bytes, six, sizeof(six)) == 0;
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
	slow = slow == UINT64_MAX ? 0 : slow;
	m->dns_slow_recent = slow + s->slow_before[0] + s->slow_before[1];
	s->slow_before[1] = s->slow_before[0];
	s->slow_before[0] = slow;
	m->dns_pending = b->pending;
	m->dns_wait_ns = b->pending ? b->oldest_ns : UINT64_MAX;
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
		module->activity = all.items[all.count - 1]->dns_pending > 0 ? ACTIVITY_WAITING : ACTIVITY_UNKNOWN;
		late += is_late(all.items[all.count - 1]) && !is_loopback(&server->last.raddr);
	}
	vec_each(&all, m)
		(*m)->dns_upstream_late = is_loopback(&(*m)->raddr) ? late : 0;
	vec_done(&all);
}

static void finish(struct window *window, void *data, struct graph *graph)
{
	struct state *state = data;

	add_configured(state, graph);
	add_asked(window, state, graph);
	track_forget(window, &state->asked, NULL);
}

static void release(void *data)
{
	map_done(&((struct state *)data)->asked);
}

static const struct measurer nameserver_measurer = {
	.name = "nameserver",
	.stage = MEASURE_PATH,
	.needs = MEASURER_NEEDS(&resolver_type, &lookup_type),
	.state_size = sizeof(struct state),
	.initial = &initial,
	.sample = sample,
	.finish = finish,
	.release = release,
};
MEASURER(nameserver_measurer);
