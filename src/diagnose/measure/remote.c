/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Name servers and how they answer; remote services that refuse connections or reset them. Seen on the wire (snapshot/wire.h). */
#include <math.h>

#include "diagnose/graph/window.h"
#include "diagnose/measure/remote.h"
#include "probe/wire.h"
#include "snapshot/core/delta.h"

#define R struct resolver_measures
static const struct field resolver_fields[] = {
	FIELD(R, raddr, ADDR, "the name server"),
	FIELD(R, dns_queries, COUNT, "lookups sent to it"),
	FIELD(R, dns_answers, COUNT, "answers from it"),
	FIELD(R, dns_failures, COUNT, "of these, that it could not or would not tell"),
	FIELD(R, dns_unreachable, COUNT, "lookups that came back as undeliverable"),
	FIELD(R, dns_slow_share, RATIO, "share of the answers that took more than 200 ms", .unit = "%"),
	FIELD(R, dns_slow_recent, COUNT, "such answers in this window and the two before"),
	FIELD(R, dns_latency_ns, DURATION, "mean time that an answer took"),
	FIELD(R, dns_pending, COUNT, "lookups without an answer, at the end"),
	FIELD(R, dns_wait_ns, DURATION, "age of the oldest of these"),
	FIELD(R, dns_upstream_late, COUNT,
	      "of a name server on this host: others, farther away, that answer late or not at all"),
};
#undef R
RECORD_TYPE(resolver_measures_type, "measure.resolver", struct resolver_measures, resolver_fields,
	    "measures of a name server in a window");

static const struct field peer_fields[] = {
	FIELD(struct peer_measures, raddr, ADDR, "remote address"),
	FIELD(struct peer_measures, rport, ID, "remote port", .zero_is_unknown = true),
	FIELD(struct peer_measures, peer_refused, COUNT, "connections that it refused"),
	FIELD(struct peer_measures, peer_resets, COUNT, "other resets that it sent"),
	FIELD(struct peer_measures, refused_here, COUNT, "connections that this host itself refused in its name"),
};
RECORD_TYPE(peer_measures_type, "measure.peer", struct peer_measures, peer_fields,
	    "measures of a remote service in a window");

struct server_track {
	struct track track;
	struct lookup_record base, last;
	uint64_t slow_before[2]; /* slow answers of the windows before */
};

struct peer_track {
	struct track track;
	struct refusal_record base, last;
};

struct state {
	struct map servers; /* address -> server_track */
	struct map peers;   /* struct endpoint -> peer_track */
};

static void init(struct state *state)
{
	if (state->servers.value_size)
		return;
	state->servers = MAP_INIT(sizeof(struct addr), sizeof(struct server_track), 10000);
	state->peers = MAP_INIT(sizeof(struct endpoint), sizeof(struct peer_track), 10000);
}

/* Counters of one that is new began at zero when it was first seen. */
static void sample(struct window *window, void *data, const struct snapshot *snapshot)
{
	struct state *state = data;

	init(state);
	snapshot_each(snapshot, lookup_type, struct lookup_record, lookup) {
		struct server_track *server = map_put(&state->servers, &lookup->raddr, NULL);

		if (!server)
			continue;
		if (track_see(window, &server->track))
			server->base = server->last;
		server->last = *lookup;
	}
	snapshot_each(snapshot, refusal_type, struct refusal_record, refusal) {
		struct endpoint key;
		struct peer_track *peer;

		memset(&key, 0, sizeof(key));
		key.addr = refusal->raddr;
		key.port = refusal->rport;
		peer = map_put(&state->peers, &key, NULL);
		if (!peer)
			continue;
		if (track_see(window, &peer->track))
			peer->base = peer->last;
		peer->last = *refusal;
	}
}

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

static void add_servers(const struct window *window, struct state *state, struct graph *graph)
{
	VEC(struct resolver_measures *) all = {};
	uint64_t late = 0;
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&state->servers, &at, &key, &value)) {
		struct server_track *server = value;
		char id[ADDR_TEXT_MAX + 16] = "resolver:";
		struct module *module;

		if (!track_is_current(window, &server->track))
			continue;
		addr_format(&server->last.raddr, id + strlen(id));
		module = graph_module(graph, MODULE_RESOLVER, id, id + strlen("resolver:"));
		vec_push(&all, measure_server(server, graph));
		module->measures.parts[0] = all.items[all.count - 1];
		module->activity = all.items[all.count - 1]->dns_pending > 0 ? ACTIVITY_WAITING : ACTIVITY_UNKNOWN;
		late += is_late(all.items[all.count - 1]) && !is_loopback(&server->last.raddr);
	}
	vec_each(&all, m)
		(*m)->dns_upstream_late = is_loopback(&(*m)->raddr) ? late : 0;
	vec_done(&all);
}

static void add_peers(const struct window *window, struct state *state, struct graph *graph)
{
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&state->peers, &at, &key, &value)) {
		const struct peer_track *peer = value;
		_cleanup_buf_ struct buf id = BUF_INIT(256);
		struct peer_measures *m;

		if (!track_is_current(window, &peer->track))
			continue;
		m = graph_alloc(graph, sizeof(*m));
		*m = (struct peer_measures){
			.raddr = peer->last.raddr,
			.rport = peer->last.rport,
			.peer_refused = delta_between(peer->base.refused, peer->last.refused),
			.peer_resets = delta_between(peer->base.resets, peer->last.resets),
			.refused_here = delta_between(peer->base.here, peer->last.here),
		};
		if (m->peer_refused == 0 && m->peer_resets == 0 && m->refused_here == 0)
			continue;
		buf_add_text(&id, "peer:");
		addr_format_endpoint(key, &id);
		graph_module(graph, MODULE_PEER, buf_text(&id), buf_text(&id) + strlen("peer:"))->measures.parts[0] = m;
	}
}

static void finish(struct window *window, void *data, struct graph *graph)
{
	struct state *state = data;

	init(state);
	add_servers(window, state, graph);
	add_peers(window, state, graph);
	track_forget(window, &state->servers, NULL);
	track_forget(window, &state->peers, NULL);
}

static void release(void *data)
{
	map_done(&((struct state *)data)->servers);
	map_done(&((struct state *)data)->peers);
}

static const struct record_type *const needs[] = {&lookup_type, &refusal_type, NULL};

static const struct measurer remote_measurer = {
	.name = "remote",
	.stage = MEASURE_PATH,
	.needs = needs,
	.state_size = sizeof(struct state),
	.sample = sample,
	.finish = finish,
	.release = release,
};
MEASURER(remote_measurer);
