/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Remote hosts that refuse connections or leave them without an answer: whether they ever were a peer, and how often
 * they are asked. A host that never answered has not failed now, and who needs it does not ask once in seconds: that is
 * a check, a name that leads nowhere on purpose, or a library that looks around.
 */
#include "diagnose/measure/acquaintance.h"

#include <string.h>

#include "diagnose/graph/window.h"
#include "diagnose/measure/conn.h"
#include "diagnose/measure/flow_module.h"
#include "diagnose/measure/known_hosts.h"
#include "diagnose/measure/refusal.h"
#include "probe/remembered.h"
#include "snapshot/socket/socket.h"

#define A struct acquaintance_measures
static const struct field acquaintance_fields[] = {
	FIELD(A, host_known, BOOL,
	      "there was a connection with this remote host before, as far as the kernel remembers"),
	FIELD(A, host_tries, COUNT, "unanswered connection attempts to this service in the last three windows"),
	FIELD(A, conns_moving, COUNT, "connections of this host, with whomever, that move data in this window"),
};
#undef A
RECORD_TYPE(acquaintance_measures_type, "measure.acquaintance", struct acquaintance_measures, acquaintance_fields,
	    "what is known of a remote host that does not accept connections");

/* Windows: programs wait between two attempts. */
#define RECENT 3

/* New connects to a service, newest window first. */
struct tried {
	uint64_t connects[RECENT];
};

struct state {
	struct map connects; /* cookie -> struct track: connects that have been counted */
	struct map services; /* struct endpoint -> struct tried */
	struct known_hosts known;
};

static const struct state initial = {
	.connects = MAP_INIT(sizeof(uint64_t), sizeof(struct track), 10000),
	.services = MAP_INIT(sizeof(struct endpoint), sizeof(struct tried), 10000),
	.known = KNOWN_HOSTS_INIT,
};

static struct endpoint service_of(const struct addr *raddr, uint16_t rport)
{
	struct endpoint key;

	memset(&key, 0, sizeof(key));
	key.addr = *raddr;
	key.port = rport;
	return key;
}

static void sample_connect(struct window *window, struct state *state, const struct socket_record *s)
{
	bool was_there = map_get(&state->connects, &s->cookie) != NULL;
	struct track *connect = map_put(&state->connects, &s->cookie, NULL);
	struct endpoint key = service_of(&s->raddr, s->rport);
	struct tried *tried = map_put(&state->services, &key, NULL);

	if (!connect || !tried) {
		window->lost++;
		return;
	}
	(void)track_see(window, connect);
	tried->connects[0] += !was_there;
}

static void sample(struct window *window, void *data, const struct snapshot *snapshot)
{
	struct state *state = data;

	snapshot_each(snapshot, socket_type, struct socket_record, s)
		if (s->proto == 6 && s->state == SOCKET_SYN_SENT && s->cookie != UINT64_MAX)
			sample_connect(window, state, s);
	known_hosts_sample(&state->known, snapshot);
}

static uint64_t connects_of(const struct tried *tried)
{
	uint64_t sum = 0;

	for (unsigned i = 0; tried && i < RECENT; i++)
		sum += tried->connects[i];
	return sum;
}

static void age(struct map *services)
{
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(services, &at, &key, &value)) {
		struct tried *tried = value;

		memmove(&tried->connects[1], &tried->connects[0], sizeof(tried->connects) - sizeof(tried->connects[0]));
		tried->connects[0] = 0;
		if (connects_of(tried) == 0)
			(void)map_remove(services, key);
	}
}

static uint64_t count_moving(const struct graph *graph)
{
	uint64_t count = 0;

	vec_each(&graph->modules, module)
		count += (*module)->kind == MODULE_CONN && (*module)->measures.conn &&
			 (*module)->measures.conn->state != SOCKET_SYN_SENT && conn_is_moving((*module)->measures.conn);
	return count;
}

static struct acquaintance_measures *measure(const struct state *state, const struct addr *raddr, uint16_t rport,
					     struct graph *graph)
{
	struct acquaintance_measures *m = graph_alloc(graph, sizeof(*m));
	struct endpoint key = service_of(raddr, rport);

	m->host_known = known_hosts_find(&state->known, raddr);
	m->host_tries = connects_of(map_get(&state->services, &key));
	return m;
}

/* NULL: it is not about a host that does not accept. */
static struct acquaintance_measures *measure_module(const struct state *state, const struct module *module,
						    struct graph *graph)
{
	const struct conn_measures *conn = module->measures.conn;
	const struct peer_measures *peer = module->measures.peer;
	const struct flow_measures *flow = module->measures.flow;

	if (conn && conn->state == SOCKET_SYN_SENT)
		return measure(state, &conn->raddr, conn->rport, graph);
	if (peer)
		return measure(state, &peer->raddr, peer->rport, graph);
	if (flow && !flow->forwarded)
		return measure(state, &flow->flow_target, flow->flow_dport, graph);
	return NULL;
}

static void finish(struct window *window, void *data, struct graph *graph)
{
	struct state *state = data;
	uint64_t moving = count_moving(graph);

	known_hosts_judge(&state->known, graph);
	vec_each(&graph->modules, module) {
		struct acquaintance_measures *m = measure_module(state, *module, graph);

		if (m)
			m->conns_moving = moving;
		(*module)->measures.acquaintance = m;
	}
	known_hosts_age(&state->known);
	track_forget(window, &state->connects, NULL);
	age(&state->services);
}

static void release(void *data)
{
	struct state *state = data;

	known_hosts_done(&state->known);
	map_done(&state->connects);
	map_done(&state->services);
}

/* After "refusal", "attempted" and "packet-drops", whose modules it adds to. */
static const struct measurer acquaintance_measurer = {
	.name = "acquaintance",
	.stage = MEASURE_EGRESS,
	.needs = MEASURER_NEEDS(&socket_type, &remembered_type),
	.state_size = sizeof(struct state),
	.initial = &initial,
	.sample = sample,
	.finish = finish,
	.release = release,
};
MEASURER(acquaintance_measurer);
