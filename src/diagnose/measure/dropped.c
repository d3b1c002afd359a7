/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Attributes dropped packets to the module they affect: the connection, the listener or UDP socket they were for, or,
 * where this host has no socket, a flow. Most drops are no fault, and most senders of dropped packets are strangers: a
 * source that tries many services, a closed port, a broadcast. Affected is a connection that exists, or a sender that
 * retries the same service.
 */
#include <linux/neighbour.h>

#include "base/clock.h"
#include "diagnose/graph/window.h"
#include "diagnose/measure/conn.h"
#include "diagnose/measure/drop_flow.h"
#include "diagnose/measure/drop_route.h"
#include "diagnose/measure/drop_rule.h"
#include "diagnose/measure/dropped.h"
#include "diagnose/measure/endpoint.h"
#include "diagnose/measure/flow_module.h"
#include "diagnose/measure/known_hosts.h"
#include "diagnose/measure/refusal.h"
#include "probe/drop_tally.h"
#include "probe/remembered.h"
#include "record/net_names.h"
#include "snapshot/core/delta.h"
#include "snapshot/netlink/conntrack.h"
#include "snapshot/netlink/firewall.h"
#include "snapshot/netlink/link.h"
#include "snapshot/netlink/neighbour.h"
#include "snapshot/netlink/qdisc.h"
#include "snapshot/netlink/route.h"
#include "snapshot/proc/counter.h"
#include "snapshot/socket/socket.h"

#define D struct dropped_measures
static const struct field dropped_fields[] = {
	FIELD(D, drop_count, COUNT, "packets that this host dropped, in this window and the three before"),
	FIELD(D, drop_window, COUNT, "the same, in this window alone"),
	FIELD(D, drop_span_ns, DURATION, "from the first to the last of them"),
	FIELD(D, drop_firewall, COUNT, "of these, by a firewall rule or policy"),
	FIELD(D, drop_reject, COUNT, "by a firewall rule that also answers: reject"),
	FIELD(D, drop_conntrack, COUNT, "by a firewall while the full conntrack table dropped as many"),
	FIELD(D, drop_invalid, COUNT,
	      "by a firewall while conntrack marked as many invalid, at least half of all that it dropped"),
	FIELD(D, drop_tc, COUNT, "by a tc filter or a BPF program"),
	FIELD(D, drop_qdisc, COUNT, "by a qdisc"),
	FIELD(D, drop_rp_filter, COUNT, "by rp_filter"),
	FIELD(D, drop_neigh, COUNT, "because the next hop has no link-layer address"),
	FIELD(D, drop_route, COUNT, "for lack of a route"),
	FIELD(D, drop_blackhole, COUNT, "by a blackhole, unreachable or prohibit route"),
	FIELD(D, route_refused, BOOL,
	      "the route lookup failed with EINVAL or EACCES (blackhole, prohibit) in that time"),
	FIELD(D, drop_too_big, COUNT, "larger than the MTU of the outgoing interface"),
	FIELD(D, drop_buffer, COUNT, "because the receive buffer was full"),
	FIELD(D, drop_memory, COUNT, "because of the protocol's memory limit"),
	FIELD(D, drop_accept, COUNT, "because the accept queue was full"),
	FIELD(D, drop_damaged, COUNT, "with a wrong checksum"),
	FIELD(D, drop_port, COUNT, "larger than the MTU of the bridge port that they leave by, or of its other end"),
	FIELD(D, drop_unforwarded, COUNT, "because the interface that they came in by does not forward"),
	FIELD(D, drop_stops, BOOL, "the connection neither sent nor received in this window"),
	FIELD(D, drop_established, BOOL, "they belong to a connection that was established, not to attempts"),
	FIELD(D, drop_retried, BOOL, "dropped repeatedly, to one service, for most of a second or longer"),
	FIELD(D, drop_awaited, BOOL, "answers of a UDP service to sockets here that are still open"),
	FIELD(D, drop_near, BOOL, "their sender is this host, on a network of it, or has a private address"),
	FIELD(D, drop_known, BOOL, "of a listener: there was a connection with one of their senders before"),
	FIELD(D, drop_served, COUNT, "of a listener: connections that other hosts have with it in this window"),
	FIELD(D, host_accepts, COUNT, "likewise: connections that this host accepted in that time (TcpPassiveOpens)"),
	FIELD(D, drop_explains, BOOL, "they explain what the connection lost"),
	FIELD(D, drop_sources, COUNT, "remote hosts whose packets are dropped"),
	FIELD(D, drop_source, ADDR, "the one with the most of them"),
	FIELD(D, drop_target, ADDR, "destination of the dropped packets"),
	FIELD(D, drop_reason, TEXT, "reason of most of them"),
	FIELD(D, drop_dev, TEXT, "interface where they were dropped"),
	FIELD(D, drop_rule, TEXT, "firewall rule whose counter increased by as many"),
};
#undef D
RECORD_TYPE(dropped_measures_type, "measure.dropped", struct dropped_measures, dropped_fields,
	    "packets of a socket or flow that this host dropped");

#define F struct flow_measures
static const struct field flow_fields[] = {
	FIELD(F, flow_proto, ENUM, "protocol", .names = &socket_proto_names),
	FIELD(F, flow_source, ADDR, "source address"),
	FIELD(F, flow_sport, ID, "source port", .zero_is_unknown = true),
	FIELD(F, flow_target, ADDR, "destination address"),
	FIELD(F, flow_dport, ID, "destination port", .zero_is_unknown = true),
	FIELD(F, forwarded, BOOL, "neither end is this host"),
	FIELD(F, dev, TEXT, "interface where its packets were dropped, or the one without a link that they leave by"),
	FIELD(F, qdisc_kind, TEXT, "queueing discipline of that interface"),
};
#undef F
RECORD_TYPE(flow_measures_type, "measure.flow", struct flow_measures, flow_fields, "traffic without a socket here");

#define TCP      6
#define UDP      17
#define DNS_PORT 53
/* Linux gives clients ports from here on, others from a higher one. */
#define CLIENT_PORTS 32768
/* Most of a second: a SYN is retried after one, and so is a ping. */
#define RETRY_NS (800 * NSEC_PER_MSEC)
/* Who is dropped at more services than that looks for open ones. */
#define SERVICES_MAX 5
/* More senders than that, all dropped at one service, may be a single one who invents addresses. */
#define SENDERS_MAX 5
/* Flow modules of a window, those with the most drops. */
#define FLOWS_MAX    32
#define NETWORKS_MAX 64

/* Movements of a counter in the last windows. */
struct series {
	bool has_last;
	uint64_t last;
	uint64_t moved[DROP_FLOW_KEEP];
};

struct state {
	uint64_t samples;
	struct map flows;            /* flow_key -> flow_track */
	struct map here;             /* addresses of this host, and its broadcast addresses -> bool: broadcast */
	VEC(struct prefix) networks; /* of its interfaces */
	struct map neighbours;       /* addresses without an answer -> dev */
	struct map qdiscs;           /* dev -> kind of its root qdisc */
	struct series full, invalid, no_routes, unreachables, accepts;
	struct drop_rules rules;
	struct drop_routes routes;
	struct known_hosts known;
};

struct dev_text {
	char text[16];
};

static const struct state initial = {
	.flows = MAP_INIT(sizeof(struct drop_flow_key), sizeof(struct drop_flow), 8192),
	.here = MAP_INIT(sizeof(struct addr), sizeof(bool), 10000),
	.neighbours = MAP_INIT(sizeof(struct addr), sizeof(struct dev_text), 10000),
	.qdiscs = MAP_INIT(sizeof(struct dev_text), sizeof(struct dev_text), 10000),
	.rules = DROP_RULES_INIT,
	.routes = DROP_ROUTES_INIT,
	.known = KNOWN_HOSTS_INIT,
};

/* --- samples --- */

static void sample_series(struct series *series, uint64_t value)
{
	uint64_t moved;

	if (value == UINT64_MAX)
		return;
	moved = series->has_last ? delta_between(series->last, value) : 0;
	series->has_last = true;
	series->last = value;
	series->moved[0] += moved == UINT64_MAX ? 0 : moved;
}

static uint64_t series_sum(const struct series *series)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < DROP_FLOW_KEEP; i++)
		sum += series->moved[i];
	return sum;
}

static void series_age(struct series *series)
{
	memmove(&series->moved[1], &series->moved[0], sizeof(series->moved) - sizeof(series->moved[0]));
	series->moved[0] = 0;
}

/* The last address of an IPv4 network, where everybody is meant. */
static void sample_address(struct state *state, const struct address_record *address)
{
	struct addr broadcast = address->laddr;
	bool *slot = map_put(&state->here, &address->laddr, NULL);

	(void)slot;
	if (state->networks.count < NETWORKS_MAX)
		vec_push(&state->networks,
			 (struct prefix){address->laddr,
					 (uint8_t)(address->prefix + (broadcast.family == ADDR_V4 ? 96 : 0))});
	if (broadcast.family != ADDR_V4 || address->prefix > 30)
		return;
	for (unsigned bit = address->prefix; bit < 32; bit++)
		broadcast.bytes[12 + bit / 8] |= (uint8_t)(0x80 >> bit % 8);
	slot = map_put(&state->here, &broadcast, NULL);
	if (slot)
		*slot = true;
}

static bool has_no_answer(const struct neighbour_record *neighbour)
{
	return neighbour->neigh_state != UINT16_MAX && (neighbour->neigh_state & (NUD_FAILED | NUD_INCOMPLETE));
}

static void sample_rest(struct state *state, const struct snapshot *snapshot)
{
	snapshot_each(snapshot, address_type, struct address_record, address)
		sample_address(state, address);
	snapshot_each(snapshot, neighbour_type, struct neighbour_record, neighbour) {
		struct dev_text *dev =
			has_no_answer(neighbour) ? map_put(&state->neighbours, &neighbour->raddr, NULL) : NULL;

		if (dev)
			memcpy(dev->text, neighbour->dev, sizeof(dev->text));
	}
	snapshot_each(snapshot, qdisc_type, struct qdisc_record, qdisc) {
		struct dev_text dev = {}, *kind;

		memcpy(dev.text, qdisc->dev, strnlen(qdisc->dev, sizeof(dev.text)));
		kind = strcmp(qdisc->parent, "root") == 0 ? map_put(&state->qdiscs, &dev, NULL) : NULL;
		if (kind)
			memcpy(kind->text, qdisc->kind, sizeof(kind->text));
	}
	snapshot_each(snapshot, conntrack_type, struct conntrack_record, conntrack) {
		sample_series(&state->full, conntrack->dropped);
		sample_series(&state->invalid, conntrack->invalid);
	}
	snapshot_each(snapshot, counter_type, struct counter_record, counter)
		if (strcmp(counter->counter, "IpExtInNoRoutes") == 0)
			sample_series(&state->no_routes, counter->value);
		else if (strcmp(counter->counter, "IcmpOutDestUnreachs") == 0)
			sample_series(&state->unreachables, counter->value);
		else if (strcmp(counter->counter, "TcpPassiveOpens") == 0)
			sample_series(&state->accepts, counter->value);
}

static void sample(struct window *window, void *data, const struct snapshot *snapshot)
{
	struct state *state = data;

	state->samples++;
	snapshot_each(snapshot, drop_type, struct drop_record, drop)
		drop_flow_sample(window, &state->flows, state->samples, drop);
	/* What a recording's first sample holds happened before. */
	if (state->samples == 1)
		track_each(window, &state->flows, struct drop_flow, flow)
		{
			memcpy(flow->base, flow->now, sizeof(flow->base));
			flow->base_bytes = flow->now_bytes;
		}
	sample_rest(state, snapshot);
	drop_rules_sample(&state->rules, snapshot);
	drop_routes_sample(&state->routes, snapshot);
	known_hosts_sample(&state->known, snapshot);
}

/* --- affected modules --- */

/* Packets of one sender to one service, by whatever ports. */
struct group_key {
	struct addr from, to;
	uint16_t service; /* its port */
	uint8_t proto;
	uint8_t unused[5];
};

struct group {
	const struct drop_flow *most; /* of its flows, the one with the most drops */
	uint64_t counts[DROP_CLASSES];
	uint64_t window, from_ns, last_ns;
	bool is_here; /* the destination is this host, or the source */
	bool leaves;
	bool has_data;
	bool repeats; /* one of its flows: the same ports again, later or with data */
	bool awaited; /* answers of a UDP service to sockets that are still open */
};

struct judgement {
	struct window *window;
	struct state *state;
	struct graph *graph;
	struct map conns;     /* cookie -> struct module * */
	struct map by_flow;   /* flow_key without direction -> struct module * */
	struct map listeners; /* port -> struct module * */
	struct map udp;       /* port -> struct module * */
	struct map groups;    /* group_key -> struct group */
	struct map services;  /* source address -> services at which its packets are dropped */
	struct map senders;   /* group_key without source -> senders whose packets to it are dropped */
	uint64_t all_firewall;
};

static bool is_for_many(const struct state *state, const struct addr *a)
{
	static const uint8_t all[4] = {255, 255, 255, 255};
	const bool *here = map_get(&state->here, a);

	if (here && *here)
		return true;
	if (a->family == ADDR_V4)
		return (a->bytes[12] & 0xf0) == 0xe0 || memcmp(a->bytes + 12, all, sizeof(all)) == 0;
	return a->bytes[0] == 0xff;
}

static bool is_here(const struct state *state, const struct addr *a)
{
	static const uint8_t loopback[16] = {[15] = 1};

	if (map_get(&state->here, a))
		return true;
	return a->family == ADDR_V4 ? a->bytes[12] == 127 : memcmp(a->bytes, loopback, sizeof(loopback)) == 0;
}

/* RFC 1918, RFC 6598, RFC 4193 and link-local. */
static bool is_private(const struct addr *a)
{
	const uint8_t *b = a->bytes + 12;

	if (a->family != ADDR_V4)
		return (a->bytes[0] & 0xfe) == 0xfc || (a->bytes[0] == 0xfe && (a->bytes[1] & 0xc0) == 0x80);
	return b[0] == 10 || (b[0] == 172 && (b[1] & 0xf0) == 16) || (b[0] == 192 && b[1] == 168) ||
	       (b[0] == 100 && (b[1] & 0xc0) == 64) || (b[0] == 169 && b[1] == 254);
}

static bool is_near(const struct state *state, const struct addr *a)
{
	if (is_private(a) || is_here(state, a))
		return true;
	vec_each(&state->networks, network)
		if (network->addr.family == a->family && prefix_contains(network, a))
			return true;
	return false;
}

static struct drop_flow_key tuple_of(const struct addr *laddr, uint16_t lport, const struct addr *raddr, uint16_t rport)
{
	struct drop_flow_key key;

	memset(&key, 0, sizeof(key));
	key.laddr = *laddr;
	key.raddr = *raddr;
	key.lport = lport;
	key.rport = rport;
	return key;
}

static void index_module(struct judgement *j, struct module *module)
{
	const struct module_measures *m = &module->measures;
	struct module **slot = NULL;

	if (m->conn) {
		struct drop_flow_key key = tuple_of(&m->conn->laddr, m->conn->lport, &m->conn->raddr, m->conn->rport);

		slot = map_put(&j->by_flow, &key, NULL);
		*slot = module;
		slot = map_put(&j->conns, &m->conn->cookie, NULL);
	} else if (m->listener) {
		slot = map_put(&j->listeners, &m->listener->lport, NULL);
	} else if (m->udp) {
		slot = map_put(&j->udp, &m->udp->lport, NULL);
	}
	if (slot)
		*slot = module;
}

static struct module *find_module(const struct map *map, const void *key)
{
	struct module **slot = map_get(map, key);

	return slot ? *slot : NULL;
}

static struct module *conn_of(const struct judgement *j, const struct drop_flow *flow)
{
	struct drop_flow_key key = tuple_of(&flow->key.laddr, flow->key.lport, &flow->key.raddr, flow->key.rport);
	struct module *conn = flow->cookie ? find_module(&j->conns, &flow->cookie) : NULL;

	return conn ?: flow->key.proto == TCP ? find_module(&j->by_flow, &key) : NULL;
}

/* The next hop that does not answer: the destination itself, or the only one on that interface. */
static const struct addr *silent_neighbour(const struct state *state, const struct addr *to, const char *dev)
{
	const struct addr *only = NULL;
	const void *key;
	void *value;
	size_t at = 0;

	if (map_get(&state->neighbours, to))
		return to;
	while (map_next(&state->neighbours, &at, &key, &value)) {
		if (strncmp(((const struct dev_text *)value)->text, dev, 16) != 0)
			continue;
		if (only)
			return NULL;
		only = key;
	}
	return only;
}

/* Whom the rules accuse: the filter, the queue, the interface, the route or the next hop of these packets. */
static void relate(struct judgement *j, struct module *module, const struct dropped_measures *m)
{
	const struct addr *hop;
	char text[ADDR_TEXT_MAX];

	if (m->drop_tc > 0 && m->drop_dev[0])
		module->related[MODULE_FILTER] = flow_module_below(j->graph, MODULE_FILTER, m->drop_dev);
	else if (m->drop_firewall > 0 || m->drop_reject > 0 || m->drop_conntrack > 0 || m->drop_invalid > 0)
		module->related[MODULE_FILTER] =
			graph_module(j->graph, MODULE_FILTER, "filter:netfilter", "the firewall of this host");
	if (m->drop_qdisc > 0 && m->drop_dev[0])
		module->related[MODULE_QDISC] = flow_module_below(j->graph, MODULE_QDISC, m->drop_dev);
	if ((m->drop_damaged > 0 || m->drop_port > 0) && m->drop_dev[0])
		module->related[MODULE_LINK] = flow_module_below(j->graph, MODULE_LINK, m->drop_dev);
	addr_format(&m->drop_target, text);
	if (m->drop_too_big > 0 && module->kind == MODULE_FLOW)
		module->related[MODULE_PATH] = flow_module_below(j->graph, MODULE_PATH, text);
	/* The route back to the source, or the route to the destination. */
	addr_format(m->drop_rp_filter > 0 ? &m->drop_source : &m->drop_target, text);
	if (m->drop_rp_filter > 0 || m->drop_route > 0 || m->drop_blackhole > 0 || m->drop_unforwarded > 0)
		module->related[MODULE_ROUTE] = flow_module_below(j->graph, MODULE_ROUTE, text);
	hop = m->drop_neigh > 0 ? silent_neighbour(j->state, &m->drop_target, m->drop_dev) : NULL;
	if (hop) {
		addr_format(hop, text);
		module->related[MODULE_NEIGH] = flow_module_below(j->graph, MODULE_NEIGH, text);
	}
	for (unsigned kind = 0; kind < MODULE_KINDS; kind++)
		if (kind != module->kind && module->related[kind] &&
		    (kind == MODULE_FILTER || kind == MODULE_QDISC || kind == MODULE_ROUTE || kind == MODULE_NEIGH ||
		     (kind == MODULE_LINK && module->kind == MODULE_FLOW)))
			graph_add_edge(module, module->related[kind]);
}

/* The answer that a rule gives in the name of the other end is seen on the wire or counted as ICMP. */
static bool is_reject(const struct judgement *j, const struct module *module, const struct dropped_measures *m)
{
	const struct module *peer = module->related[MODULE_PEER];
	const struct drop_rules *rules = &j->state->rules;

	if (peer && peer->measures.peer && peer->measures.peer->refused_here > 0)
		return true;
	return rules->rejects && (!rules->drops || series_sum(&j->state->unreachables) >= m->drop_firewall);
}

/* NETFILTER_DROP is also what a full conntrack table does, a rule that rejects, and one about invalid packets. */
static void split_firewall(const struct judgement *j, const struct module *module, struct dropped_measures *m)
{
	uint64_t invalid = series_sum(&j->state->invalid);

	if (m->drop_firewall == 0)
		return;
	if (is_reject(j, module, m))
		m->drop_reject = m->drop_firewall;
	else if (series_sum(&j->state->full) * 2 >= m->drop_firewall)
		m->drop_conntrack = m->drop_firewall;
	else if (invalid >= m->drop_firewall && invalid * 2 >= j->all_firewall &&
		 invalid <= j->all_firewall + j->all_firewall / 4 + 2)
		m->drop_invalid = m->drop_firewall;
	if (m->drop_reject || m->drop_conntrack || m->drop_invalid)
		m->drop_firewall = 0;
}

/* What a blackhole route drops on output has the reason of a missing route. */
static void split_route(const struct judgement *j, struct dropped_measures *m)
{
	if (m->drop_route == 0 || !drop_routes_refuse(&j->state->routes, &m->drop_target))
		return;
	m->route_refused = true;
	m->drop_blackhole += m->drop_route;
	m->drop_route = 0;
}

static void set_counts(struct judgement *j, struct dropped_measures *m, const uint64_t *counts)
{
	m->drop_firewall += counts[DROP_FIREWALL];
	m->drop_tc += counts[DROP_TC];
	m->drop_qdisc += counts[DROP_QDISC];
	m->drop_rp_filter += counts[DROP_RP_FILTER];
	m->drop_neigh += counts[DROP_NEIGH];
	m->drop_route += counts[DROP_ROUTE];
	*(series_sum(&j->state->no_routes) > 0 ? &m->drop_route : &m->drop_blackhole) += counts[DROP_UNROUTED];
	m->drop_too_big += counts[DROP_TOO_BIG];
	m->drop_buffer += counts[DROP_BUFFER];
	m->drop_memory += counts[DROP_MEMORY];
	m->drop_accept += counts[DROP_ACCEPT];
	m->drop_damaged += counts[DROP_DAMAGED];
	m->drop_port += counts[DROP_PORT];
	m->drop_unforwarded += counts[DROP_UNFORWARDED];
	for (unsigned class = 0; class < DROP_CLASSES; class ++)
		m->drop_count += counts[class];
}

/* enum nf_inet_hooks */
static uint8_t hook_of(const struct judgement *j, const struct drop_flow *flow)
{
	return flow->key.dir == DROP_TX ? 3 : is_here(j->state, &flow->key.laddr) ? 1 : 2;
}

static void set_words(const struct judgement *j, struct dropped_measures *m, const struct drop_flow *flow)
{
	bool leaves = flow->key.dir == DROP_TX;

	if (flow->key.laddr.family != ADDR_UNKNOWN) {
		m->drop_source = leaves ? flow->key.laddr : flow->key.raddr;
		m->drop_target = leaves ? flow->key.raddr : flow->key.laddr;
	}
	memcpy(m->drop_reason, flow->reason, sizeof(m->drop_reason));
	memcpy(m->drop_dev, flow->dev, sizeof(m->drop_dev));
	drop_rules_name(&j->state->rules, max_of(m->drop_firewall, drop_flow_class(flow, DROP_FIREWALL)),
			j->all_firewall, hook_of(j, flow), m->drop_rule, sizeof(m->drop_rule));
}

static struct dropped_measures *measures_of(struct judgement *j, struct module *module)
{
	struct dropped_measures *m;

	/* Allocated here, for this window. */
	if (module->measures.dropped)
		return (struct dropped_measures *)module->measures.dropped;
	m = graph_alloc(j->graph, sizeof(*m));
	m->drop_known = KNOWN_DONT;
	module->measures.dropped = m;
	return m;
}

/* Egress drops must be as many as the connection's retransmissions. */
static bool explains(const struct conn_measures *own, const struct drop_flow *flow)
{
	if (drop_flow_sum(flow) == 0)
		return false;
	return flow->key.dir == DROP_RX || own->stuck || own->retrans_bytes == UINT64_MAX ||
	       flow->moved_bytes * 2 >= own->retrans_bytes;
}

/* Nothing of it arrived in this window, in either direction. */
static bool is_still(const struct conn_measures *own)
{
	return own->received_bytes == 0 && own->sent_bytes == 0;
}

static void blame_conn(struct judgement *j, struct module *conn, const struct drop_flow *flow)
{
	struct dropped_measures *m = measures_of(j, conn);
	uint64_t counts[DROP_CLASSES] = {}, before = m->drop_count;

	for (unsigned class = 0; class < DROP_CLASSES; class ++) {
		counts[class] = drop_flow_class(flow, (enum drop_class) class);
		m->drop_window += flow->moved[0][class];
	}
	if (before == 0) {
		m->drop_source = conn->measures.conn->laddr;
		m->drop_target = conn->measures.conn->raddr;
	}
	m->drop_established = conn->measures.conn->state != SOCKET_SYN_SENT;
	m->drop_explains |= explains(conn->measures.conn, flow);
	m->drop_stops |= is_still(conn->measures.conn);
	m->drop_span_ns = max_of(m->drop_span_ns, flow->last_ns - drop_flow_from_ns(j->window, flow));
	set_counts(j, m, counts);
	if (m->drop_count - before >= before)
		set_words(j, m, flow);
}

/* Who invents senders draws other ports each time; whoever waits for an answer sends the same again. */
static bool repeats(const struct drop_flow *flow, uint64_t from_ns)
{
	return drop_flow_sum(flow) >= 2 && (flow->has_data || flow->last_ns - from_ns >= RETRY_NS);
}

/* The same connection acknowledges repeatedly; strays come from another port each time. */
static bool is_held_up(const struct drop_flow *flow)
{
	return flow->is_open && drop_flow_sum(flow) >= 2;
}

/* A datagram of a service for the socket of a client, which is open: it waits for no other. */
static bool is_awaited(const struct judgement *j, const struct drop_flow_key *key)
{
	const struct module *udp = key->proto == UDP && key->dir == DROP_RX ? find_module(&j->udp, &key->lport) : NULL;

	return udp && key->rport < key->lport && udp->measures.udp->rport == key->rport &&
	       addr_equal(&udp->measures.udp->raddr, &key->raddr);
}

/*
 * What comes from the lower port of a connection answers: its service sends to many ports, and looks for none. So do
 * datagrams from a port that no client is given.
 */
static bool is_reply(const struct state *state, const struct drop_flow *flow)
{
	const struct drop_flow_key *key = &flow->key;

	if (key->rport >= key->lport || is_here(state, &key->laddr))
		return false;
	return (key->proto == TCP && !flow->opens) || (key->proto == UDP && key->rport < CLIENT_PORTS);
}

/*
 * rp_filter sees a multicast packet only where a program of this host has joined its group. Groups of the link itself
 * (224.0.0.0/24) are chatter of neighbours.
 */
static bool is_joined(const struct judgement *j, const struct drop_flow *flow, const struct addr *to)
{
	static const uint8_t link_groups[3] = {224, 0, 0};

	return flow->key.proto == UDP && flow->key.dir != DROP_TX && to->family == ADDR_V4 &&
	       (to->bytes[12] & 0xf0) == 0xe0 && memcmp(to->bytes + 12, link_groups, sizeof(link_groups)) != 0 &&
	       drop_flow_class(flow, DROP_RP_FILTER) > 0 && find_module(&j->udp, &flow->key.lport);
}

static void add_to_group(struct judgement *j, const struct drop_flow *flow)
{
	bool leaves = flow->key.dir == DROP_TX, replies, awaited = is_awaited(j, &flow->key), joined;
	uint64_t from_ns = drop_flow_from_ns(j->window, flow);
	struct group_key key;
	struct group *group;

	memset(&key, 0, sizeof(key));
	key.from = leaves ? flow->key.laddr : flow->key.raddr;
	key.to = leaves ? flow->key.raddr : flow->key.laddr;
	key.proto = flow->key.proto;
	joined = is_joined(j, flow, &key.to);
	if (is_for_many(j->state, &key.to) && !joined)
		return;
	replies = leaves ? find_module(key.proto == UDP ? &j->udp : &j->listeners, &flow->key.lport) != NULL
			 : is_reply(j->state, flow);
	key.service = leaves == replies && !awaited ? flow->key.lport : flow->key.rport;
	group = map_put(&j->groups, &key, NULL);
	if (!group)
		return;
	for (unsigned class = 0; class < DROP_CLASSES; class ++) {
		group->counts[class] += drop_flow_class(flow, (enum drop_class) class);
		group->window += flow->moved[0][class];
	}
	group->from_ns = group->most ? min_of(group->from_ns, from_ns) : from_ns;
	group->last_ns = max_of(group->last_ns, flow->last_ns);
	group->has_data |= flow->has_data || is_held_up(flow);
	group->repeats |= repeats(flow, from_ns);
	group->leaves = leaves;
	group->awaited |= awaited;
	group->is_here = leaves || joined || is_here(j->state, &key.to);
	if (!group->most || drop_flow_sum(flow) > drop_flow_sum(group->most))
		group->most = flow;
}

static struct group_key service_of(const struct group_key *key)
{
	struct group_key service = *key;

	memset(&service.from, 0, sizeof(service.from));
	return service;
}

static void count_services(struct judgement *j)
{
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&j->groups, &at, &key, &value)) {
		struct group_key service = service_of(key);
		unsigned *services = map_put(&j->services, &((const struct group_key *)key)->from, NULL);
		unsigned *senders = map_put(&j->senders, &service, NULL);

		if (services)
			(*services)++;
		if (senders)
			(*senders)++;
	}
}

static bool is_stranger(const struct judgement *j, const struct group_key *key, const struct group *group)
{
	const unsigned *services = map_get(&j->services, &key->from);

	return !group->leaves && services && *services > SERVICES_MAX;
}

/* Of a crowd, only senders that are known to wait. UDP clients take another port for each question. */
static bool is_invented(const struct judgement *j, const struct group_key *key, const struct group *group)
{
	struct group_key service = service_of(key);
	const unsigned *senders = map_get(&j->senders, &service);

	return key->proto == TCP && !group->leaves && !group->repeats && senders && *senders > SENDERS_MAX;
}

static bool is_retried(const struct group *group)
{
	uint64_t count = 0;

	for (unsigned class = 0; class < DROP_CLASSES; class ++)
		count += group->counts[class];
	return count >= 2 && group->last_ns - group->from_ns >= RETRY_NS;
}

/* Accuses a module of its own, not one that all strangers share: one packet may be the first of several. */
static bool is_exact(const struct group *group)
{
	return group->counts[DROP_RP_FILTER] + group->counts[DROP_NEIGH] + group->counts[DROP_ROUTE] +
		       group->counts[DROP_UNROUTED] >
	       0;
}

/* Whoever sends one waits for the answer, and asks again only after seconds. */
static bool is_lookup(const struct group_key *key)
{
	return key->proto == UDP && key->service == DNS_PORT;
}

static struct module *flow_module(struct judgement *j, const struct group_key *key, const struct group *group)
{
	const struct drop_flow_key *flow = &group->most->key;
	struct endpoint from = {key->from, group->leaves ? flow->lport : flow->rport},
			to = {key->to, group->leaves ? flow->rport : flow->lport};
	struct module *module = flow_module_of(j->graph, key->proto, &from, &to);
	struct flow_measures *m = flow_module_measures(module);
	const struct dev_text *kind;
	struct dev_text dev = {};

	m->forwarded = !group->is_here;
	memcpy(dev.text, group->most->dev, strnlen(group->most->dev, sizeof(dev.text)));
	memcpy(m->dev, dev.text, sizeof(m->dev));
	kind = map_get(&j->state->qdiscs, &dev);
	if (kind)
		memcpy(m->qdisc_kind, kind->text, sizeof(m->qdisc_kind));
	return module;
}

/* Whose packets they are; NULL: nobody's who suffers. */
static struct module *find_affected(struct judgement *j, const struct group_key *key, const struct group *group,
				    unsigned *flows)
{
	struct module *service = find_module(key->proto == UDP ? &j->udp : &j->listeners, &key->service);

	if (is_stranger(j, key, group) || (is_invented(j, key, group) && group->counts[DROP_ACCEPT] == 0))
		return NULL;
	if (group->is_here && service && !group->awaited && (key->proto == TCP || key->proto == UDP))
		return is_retried(group) || group->counts[DROP_ACCEPT] > 0 ? service : NULL;
	/* What arrives for a port without a socket, and what the kernel itself answers to it. */
	if (group->is_here && !group->leaves && !group->awaited)
		return NULL;
	if (!(group->has_data || group->awaited || is_retried(group) || is_exact(group) || is_lookup(key)) ||
	    *flows >= FLOWS_MAX)
		return NULL;
	++*flows;
	return flow_module(j, key, group);
}

static uint64_t served_beside(const struct judgement *j, const struct group_key *key)
{
	uint64_t served = 0;

	vec_each(&j->graph->modules, module) {
		const struct conn_measures *conn = (*module)->kind == MODULE_CONN ? (*module)->measures.conn : NULL;

		served += conn && conn->lport == key->service && conn->state != SOCKET_SYN_RECV &&
			  !addr_equal(&conn->raddr, &key->from);
	}
	return served;
}

/* Of several senders one that is known will do, and so does one of which it is unknown. */
static void measure_sender(const struct judgement *j, const struct group_key *key, struct dropped_measures *m)
{
	uint8_t known = known_hosts_find(&j->state->known, &key->from);

	if (m->drop_sources == 0)
		m->drop_known = known;
	else if (known == KNOWN || m->drop_known == KNOWN)
		m->drop_known = KNOWN;
	else if (known != m->drop_known)
		m->drop_known = KNOWN_DONT;
	if (known == KNOWN_NOT)
		m->drop_served = max_of(m->drop_served, served_beside(j, key));
	m->host_accepts = series_sum(&j->state->accepts);
}

static void blame_groups(struct judgement *j)
{
	unsigned flows = 0;
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&j->groups, &at, &key, &value)) {
		const struct group *group = value;
		struct module *module = find_affected(j, key, group, &flows);
		struct dropped_measures *m;
		uint64_t before;

		if (!module)
			continue;
		m = measures_of(j, module);
		before = m->drop_count;
		set_counts(j, m, group->counts);
		m->drop_window += group->window;
		m->drop_span_ns = max_of(m->drop_span_ns, group->last_ns - group->from_ns);
		m->drop_established |= group->has_data;
		m->drop_retried |= is_retried(group);
		m->drop_awaited |= group->awaited;
		m->drop_near |= is_near(j->state, &((const struct group_key *)key)->from);
		if (module->kind == MODULE_LISTENER && !group->leaves)
			measure_sender(j, key, m);
		m->drop_sources++;
		if (m->drop_count - before >= before)
			set_words(j, m, group->most);
	}
}

/* --- a window --- */

static void judgement_done(struct judgement *j)
{
	map_done(&j->conns);
	map_done(&j->by_flow);
	map_done(&j->listeners);
	map_done(&j->udp);
	map_done(&j->groups);
	map_done(&j->services);
	map_done(&j->senders);
}

/* Packets wait for the address of their next hop in a queue, which is purged when there is no answer. */
static void settle_purged(const struct state *state, struct drop_flow *flow)
{
	bool leaves = flow->key.dir == DROP_TX;
	const struct addr *to = leaves ? &flow->key.raddr : &flow->key.laddr;

	if (leaves || !is_here(state, to))
		if (silent_neighbour(state, to, flow->dev))
			flow->moved[0][DROP_NEIGH] += flow->moved[0][DROP_PURGED];
	flow->moved[0][DROP_PURGED] = 0;
}

static void judge(struct judgement *j)
{
	struct state *state = j->state;

	known_hosts_judge(&state->known, j->graph);
	vec_each(&j->graph->modules, module)
		index_module(j, *module);
	track_each(j->window, &state->flows, struct drop_flow, flow)
	{
		drop_flow_settle(flow);
		settle_purged(state, flow);
		j->all_firewall += drop_flow_class(flow, DROP_FIREWALL);
	}
	track_each(j->window, &state->flows, struct drop_flow, flow)
	{
		struct module *conn = drop_flow_sum(flow) > 0 ? conn_of(j, flow) : NULL;

		if (conn)
			blame_conn(j, conn, flow);
		else if (drop_flow_sum(flow) > 0 && flow->key.laddr.family != ADDR_UNKNOWN)
			add_to_group(j, flow);
	}
	count_services(j);
	blame_groups(j);
}

static void finish(struct window *window, void *data, struct graph *graph)
{
	struct state *state = data;
	_cleanup_(judgement_done) struct judgement j = {
		.window = window,
		.state = state,
		.graph = graph,
		.conns = MAP_INIT(sizeof(uint64_t), sizeof(struct module *), 0),
		.by_flow = MAP_INIT(sizeof(struct drop_flow_key), sizeof(struct module *), 0),
		.listeners = MAP_INIT(sizeof(uint16_t), sizeof(struct module *), 0),
		.udp = MAP_INIT(sizeof(uint16_t), sizeof(struct module *), 0),
		.groups = MAP_INIT(sizeof(struct group_key), sizeof(struct group), 8192),
		.services = MAP_INIT(sizeof(struct addr), sizeof(unsigned), 8192),
		.senders = MAP_INIT(sizeof(struct group_key), sizeof(unsigned), 8192),
	};

	if (state->flows.count > 0) {
		judge(&j);
		for (size_t i = 0, count = graph->modules.count; i < count; i++)
			if (graph->modules.items[i]->measures.dropped) {
				split_route(&j, measures_of(&j, graph->modules.items[i]));
				split_firewall(&j, graph->modules.items[i], measures_of(&j, graph->modules.items[i]));
				relate(&j, graph->modules.items[i], graph->modules.items[i]->measures.dropped);
			}
	}
	track_forget(window, &state->flows, NULL);
	track_each(window, &state->flows, struct drop_flow, flow) drop_flow_age(flow);
	series_age(&state->full);
	series_age(&state->invalid);
	series_age(&state->no_routes);
	series_age(&state->unreachables);
	series_age(&state->accepts);
	drop_rules_age(&state->rules);
	drop_routes_age(&state->routes, DROP_FLOW_KEEP);
	known_hosts_age(&state->known);
	map_done(&state->here);
	state->networks.count = 0;
	map_done(&state->neighbours);
	map_done(&state->qdiscs);
}

static void release(void *data)
{
	struct state *state = data;

	map_done(&state->flows);
	map_done(&state->here);
	vec_done(&state->networks);
	map_done(&state->neighbours);
	map_done(&state->qdiscs);
	drop_rules_done(&state->rules);
	drop_routes_done(&state->routes);
	known_hosts_done(&state->known);
}

/* After "egress", which relates connections to filters by counters alone. */
static const struct measurer dropped_measurer = {
	.name = "packet-drops",
	.stage = MEASURE_EGRESS,
	.needs = MEASURER_NEEDS(&drop_type, &firewall_rule_type, &firewall_chain_type, &conntrack_type, &counter_type,
				&address_type, &neighbour_type, &qdisc_type, &destination_type, &remembered_type),
	.state_size = sizeof(struct state),
	.initial = &initial,
	.sample = sample,
	.finish = finish,
	.release = release,
};
MEASURER(dropped_measurer);
