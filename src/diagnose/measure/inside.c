/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "diagnose/measure/inside.h"

#include <inttypes.h>
#include <netinet/in.h>

#include "diagnose/measure/conn.h"
#include "diagnose/measure/dropped.h"
#include "diagnose/measure/endpoint.h"
#include "diagnose/measure/exchange.h"
#include "diagnose/measure/nameserver.h"
#include "diagnose/measure/refusal.h"
#include "diagnose/measure/unseen.h"

#define CONNS_MAX 1000000

/* --- what was not seen --- */

static bool is_listed(const struct unseen_record *items, uint32_t count, const struct unseen_record *wanted)
{
	for (uint32_t i = 0; i < count; i++)
		if (strcmp(items[i].what, wanted->what) == 0 && strcmp(items[i].why, wanted->why) == 0 &&
		    strcmp(items[i].lost, wanted->lost) == 0)
			return true;
	return false;
}

static const char *lost_inside(struct graph *graph, const char *lost, const struct module_place *place)
{
	_cleanup_free_ char *text = place->name ? xasprintf("%s in %s", lost, place->name)
						: xasprintf("%s in network namespace %" PRIu64, lost, place->netns);
	char *kept = graph_alloc(graph, strlen(text) + 1);

	memcpy(kept, text, strlen(text));
	return kept;
}

/* What fails for the host as well fails for one reason. */
static void add_unseen(struct graph *graph, const struct graph *container, const struct module_place *place)
{
	const struct unseen_record *more = container->unseen.items, *own = graph->unseen.items;
	uint32_t count = graph->unseen.count;
	struct unseen_record *all = graph_alloc(graph, (count + container->unseen.count + 1) * sizeof(*all));

	if (count)
		memcpy(all, own, count * sizeof(*all));
	for (uint32_t i = 0; i < container->unseen.count; i++)
		if (!is_listed(own, graph->unseen.count, &more[i]))
			all[count++] = (struct unseen_record){more[i].what, more[i].why,
							      lost_inside(graph, more[i].lost, place)};
	graph->unseen = (struct list){all, count};
}

void inside_add(struct graph *graph, struct graph *container, const struct module_place *place)
{
	add_unseen(graph, container, place);
	graph_absorb(graph, container, place);
}

/* --- connections --- */

struct ends {
	struct addr from, to;
	uint16_t from_port, to_port;
};

static struct ends make_ends(const struct addr *from, uint16_t from_port, const struct addr *to, uint16_t to_port)
{
	struct ends ends;

	/* A key is compared byte by byte. */
	memset(&ends, 0, sizeof(ends));
	if (from)
		ends.from = *from;
	ends.to = *to;
	ends.from_port = from_port;
	ends.to_port = to_port;
	return ends;
}

static struct module *find(const struct map *conns, const struct addr *from, uint16_t from_port, const struct addr *to,
			   uint16_t to_port)
{
	struct ends ends = make_ends(from, from_port, to, to_port);
	struct module *const *slot = map_get(conns, &ends);

	return slot ? *slot : NULL;
}

static void put(struct map *conns, struct ends ends, struct module *conn)
{
	struct module **slot = map_put(conns, &ends, NULL);

	if (slot)
		*slot = conn;
}

/* Its end at the other side is diagnosed there. */
static void set_other_end(struct graph *graph, struct module *conn, struct module *other)
{
	struct exchange_measures *m;

	conn->other_end = other;
	if (!conn->measures.exchange)
		return;
	m = graph_alloc(graph, sizeof(*m));
	*m = *conn->measures.exchange;
	exchange_set_other_end(m, other);
	conn->measures.exchange = m;
}

static void link_ends(struct graph *graph, const struct map *conns)
{
	vec_each(&graph->modules, at) {
		const struct conn_measures *m = (*at)->measures.conn;
		struct module *other = NULL;

		if ((*at)->kind == MODULE_CONN && m && !(*at)->other_end)
			other = find(conns, &m->raddr, m->rport, &m->laddr, m->lport);
		if (other && other->place != (*at)->place)
			set_other_end(graph, *at, other);
	}
}

/*
 * A host that translates addresses forwards the packets of a container under its own address; ports stay as a rule. So
 * the far end and the port of the near end tell whose they are, or the far end alone: one flow may stand for several
 * connections to a service.
 */
static struct module *carried_by(const struct flow_measures *flow, const struct map *conns)
{
	return find(conns, &flow->flow_source, flow->flow_sport, &flow->flow_target, flow->flow_dport)
		       ?: find(conns, &flow->flow_target, flow->flow_dport, &flow->flow_source, flow->flow_sport)
		       ?: find(conns, NULL, flow->flow_sport, &flow->flow_target, flow->flow_dport)
		       ?: find(conns, NULL, flow->flow_dport, &flow->flow_source, flow->flow_sport)
		       ?: find(conns, NULL, 0, &flow->flow_target, flow->flow_dport)
		       ?: find(conns, NULL, 0, &flow->flow_source, flow->flow_sport);
}

static void link_flows(struct graph *graph, const struct map *conns)
{
	vec_each(&graph->modules, at) {
		const struct flow_measures *flow = (*at)->kind == MODULE_FLOW ? (*at)->measures.flow : NULL;
		struct module *conn = flow && flow->flow_proto == IPPROTO_TCP ? carried_by(flow, conns) : NULL;

		if (conn && conn->place != (*at)->place)
			(*at)->carries = conn;
	}
}

/* --- services that programs in containers use: datagrams are of no connection --- */

static void link_services(struct graph *graph)
{
	struct map services = MAP_INIT(sizeof(struct ends), sizeof(struct module *), CONNS_MAX);

	vec_each(&graph->modules, at) {
		const struct peer_measures *m =
			(*at)->kind == MODULE_PEER && (*at)->place ? (*at)->measures.peer : NULL;

		if (m)
			put(&services, make_ends(NULL, 0, &m->raddr, m->rport), *at);
	}
	vec_each(&graph->modules, at) {
		const struct flow_measures *flow = (*at)->kind == MODULE_FLOW ? (*at)->measures.flow : NULL;

		if (flow && !(*at)->place && !(*at)->related[MODULE_PEER])
			(*at)->related[MODULE_PEER] = find(&services, NULL, 0, &flow->flow_target, flow->flow_dport);
	}
	map_done(&services);
}

/* --- services of this host that are peers to a container of it, or to the host --- */

/* A listener of one namespace and port; of several with that port, any. */
struct served {
	const struct module_place *place;
	uint64_t port;
};

static void link_listeners(struct graph *graph)
{
	struct map listeners = MAP_INIT(sizeof(struct served), sizeof(struct module *), CONNS_MAX);

	vec_each(&graph->modules, at) {
		const struct listener_measures *m = (*at)->kind == MODULE_LISTENER ? (*at)->measures.listener : NULL;
		struct module **slot = m ? map_put(&listeners, &(struct served){(*at)->place, m->lport}, NULL) : NULL;

		if (slot)
			*slot = *at;
	}
	vec_each(&graph->modules, at) {
		const struct module *other = (*at)->other_end;
		struct module *peer = (*at)->related[MODULE_PEER], *const *listener = NULL;

		if (other && other->measures.conn && peer)
			listener = map_get(&listeners, &(struct served){other->place, other->measures.conn->lport});
		if (listener)
			peer->related[MODULE_LISTENER] = *listener;
	}
	map_done(&listeners);
}

/* --- name servers --- */

#define DNS_PORT 53

/* A program in a container waits for a name server; the host drops its queries, once for each. */
static void link_lookups(struct graph *graph, const struct module *flow)
{
	const struct flow_measures *m = flow->measures.flow;

	vec_each(&graph->modules, at) {
		const struct resolver_measures *resolver =
			(*at)->kind == MODULE_RESOLVER && (*at)->place ? (*at)->measures.resolver : NULL;

		if (!resolver || (*at)->measures.dropped || !addr_equal(&resolver->raddr, &m->flow_target))
			continue;
		(*at)->measures.dropped = flow->measures.dropped;
		(*at)->related[MODULE_FILTER] = flow->related[MODULE_FILTER];
		if (flow->related[MODULE_FILTER])
			graph_add_edge(*at, flow->related[MODULE_FILTER]);
	}
}

static void link_all_lookups(struct graph *graph)
{
	vec_each(&graph->modules, at) {
		const struct flow_measures *flow = (*at)->kind == MODULE_FLOW ? (*at)->measures.flow : NULL;

		if (flow && !(*at)->place && (*at)->measures.dropped && flow->flow_proto == IPPROTO_UDP &&
		    flow->flow_dport == DNS_PORT)
			link_lookups(graph, *at);
	}
}

void inside_link(struct graph *graph)
{
	struct map conns = MAP_INIT(sizeof(struct ends), sizeof(struct module *), CONNS_MAX);

	vec_each(&graph->modules, at) {
		const struct conn_measures *m = (*at)->kind == MODULE_CONN ? (*at)->measures.conn : NULL;

		/* Each namespace has a loopback of its own. */
		if (!m || addr_is_loopback(&m->raddr))
			continue;
		put(&conns, make_ends(&m->laddr, m->lport, &m->raddr, m->rport), *at);
		if ((*at)->place) {
			put(&conns, make_ends(NULL, m->lport, &m->raddr, m->rport), *at);
			put(&conns, make_ends(NULL, 0, &m->raddr, m->rport), *at);
		}
	}
	link_ends(graph, &conns);
	link_flows(graph, &conns);
	link_services(graph);
	link_listeners(graph);
	link_all_lookups(graph);
	map_done(&conns);
}
