/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The egress of a connection, as the kernel would choose it now: the route to the remote address, the neighbour behind
 * it, the interface, and the queue in front of that.
 */
#include <linux/if.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <math.h>

#include "base/clock.h"
#include "diagnose/graph/window.h"
#include "diagnose/measure/conn.h"
#include "diagnose/measure/egress.h"
#include "diagnose/measure/network.h"
#include "snapshot/core/delta.h"
#include "snapshot/netlink/link.h"
#include "snapshot/netlink/neighbour.h"
#include "snapshot/netlink/qdisc.h"
#include "snapshot/netlink/route.h"
#include "snapshot/netlink/tunnel.h"
#include "snapshot/proc/process.h"

#define M struct egress_measures
static const struct field egress_fields[] = {
	FIELD(M, dev, TEXT, "outgoing interface"),
	FIELD(M, link_up, BOOL, "the interface is up"),
	FIELD(M, link_carrier, BOOL, "the interface has a carrier"),
	FIELD(M, link_changes, COUNT, "carrier changes"),
	FIELD(M, link_changes_recent, COUNT, "the same, in this window and the three before"),
	FIELD(M, link_changes_ever, COUNT, "carrier changes since the interface was created (carrier_changes)"),
	FIELD(M, link_mtu, BYTES, "MTU of the interface", .exact = true),
	FIELD(M, link_rx_packets, COUNT, "packets that the interface received"),
	FIELD(M, link_tx_packets, COUNT, "packets that the interface sent"),
	FIELD(M, link_rx_errors, COUNT, "packets received with errors"),
	FIELD(M, link_tx_errors, COUNT, "packets not sent because of errors"),
	FIELD(M, link_rx_dropped, COUNT, "packets received and dropped"),
	FIELD(M, link_tx_dropped, COUNT, "packets dropped before they were sent"),
	FIELD(M, link_rx_missed, COUNT, "packets that the NIC dropped because its receive ring was full"),
	FIELD(M, link_filling, COUNT,
	      "connections by the interface that have more to send than they may, while their RTT is raised"),
	FIELD(M, link_speed, BYTES, "link speed of the NIC", .unit = "B/s", .as_bits = true),
	FIELD(M, link_speed_max, BYTES, "highest link speed that the NIC supports", .unit = "B/s", .as_bits = true),
	FIELD(M, link_bus_rate, BYTES, "rate of the NIC's PCIe link in one direction", .unit = "B/s", .as_bits = true),
	FIELD(M, link_rx_use, RATIO, "rate at which it received, as a share of the link speed", .unit = "%"),
	FIELD(M, link_tx_use, RATIO, "rate at which it sent, as a share of the link speed", .unit = "%"),
	FIELD(M, link_rx_bus_use, RATIO, "the same of the PCIe link, received", .unit = "%"),
	FIELD(M, link_tx_bus_use, RATIO, "the same of the PCIe link, sent", .unit = "%"),
	FIELD(M, qdisc_kind, TEXT, "queueing discipline of the interface"),
	FIELD(M, qdisc_drops, COUNT, "packets dropped by the qdisc"),
	FIELD(M, qdisc_overlimits, COUNT, "times that the qdisc delayed a packet to keep its rate (overlimits)"),
	FIELD(M, qdisc_backlog_min, BYTES, "smallest backlog of any sample"),
	FIELD(M, qdisc_backlog_peak, BYTES, "largest backlog of any sample"),
	FIELD(M, qdisc_backlog_share, RATIO, "samples with a backlog", .unit = "%"),
	FIELD(M, tc_drops, COUNT, "packets dropped by tc filters of the interface (ingress, clsact)"),
	FIELD(M, qdisc_rate, BYTES, "configured rate of the qdisc", .unit = "B/s", .as_bits = true),
	FIELD(M, qdisc_sent_rate, BYTES, "rate at which it sent", .unit = "B/s", .as_bits = true),
	FIELD(M, qdisc_use, RATIO, "rate at which it sent, as a share of the configured rate", .unit = "%"),
	FIELD(M, qdisc_delay_ns, DURATION, "time to drain the largest backlog"),
	FIELD(M, route_error, ENUM, "error of the route lookup", .names = &errno_names, .zero_is_unknown = true),
	FIELD(M, route_kind, ENUM, "type of the route", .names = &route_kind_names),
	FIELD(M, laddr_gone, BOOL, "its local address is assigned to no interface"),
	FIELD(M, gateway, ADDR, "next hop"),
	FIELD(M, route_mtu, BYTES, "MTU of the route", .exact = true),
	FIELD(M, neigh_state, FLAGS, "state of the neighbour entry", .names = &neighbour_state_names),
	FIELD(M, neigh_failed, BOOL, "the neighbour does not answer"),
	FIELD(M, tunnel_kind, TEXT, "kind of the tunnel that its packets enter"),
	FIELD(M, tunnel_pid, ID, "process behind the tunnel that its packets enter", .zero_is_unknown = true),
	FIELD(M, tunnel_stopped_share, RATIO, "samples in which that process was stopped", .unit = "%"),
};
#undef M
RECORD_TYPE(egress_measures_type, "measure.egress", struct egress_measures, egress_fields,
	    "what a connection's packets pass on this host");

/* --- collecting --- */

/* Windows in which an interface that comes and goes is seen to do so. */
#define CHANGE_WINDOWS 4

struct dev_track {
	struct track track;
	bool has_link, has_qdisc, has_link_base, has_qdisc_base, has_filters;
	uint32_t filter_drops, filter_drops_base;
	struct link_record link, link_base;
	struct qdisc_record qdisc, qdisc_base;
	uint64_t base_ns, last_ns;
	unsigned samples, waiting;
	uint64_t backlog_min, backlog_peak;
	uint64_t changes[CHANGE_WINDOWS]; /* of the carrier; newest first */
	uint32_t counts; /* ifindex of the one on or below it that counts in this window; 0: not looked for yet */
};

struct route_track {
	struct track track;
	struct destination_record destination;
};

struct neigh_track {
	struct track track;
	uint16_t state;
};

/* The process behind a TUN device. */
struct tunnel_track {
	struct track track;
	char kind[16];
	uint32_t pid; /* 0: the kernel itself carries the packets */
	unsigned samples, stopped;
};

struct state {
	struct map tunnels; /* ifindex -> tunnel_track */
	struct map devs;    /* ifindex -> dev_track */
	struct map routes;  /* raddr -> route_track */
	struct map neighs;  /* raddr -> neigh_track */
	struct map homes;   /* local address -> ifindex, of the last sample */
	struct map former;  /* raddr -> ifindex of the last route that worked */
	struct networks networks;
};

static const struct state initial = {
	.tunnels = MAP_INIT(sizeof(uint32_t), sizeof(struct tunnel_track), 10000),
	.devs = MAP_INIT(sizeof(uint32_t), sizeof(struct dev_track), 10000),
	.routes = MAP_INIT(sizeof(struct addr), sizeof(struct route_track), 20000),
	.neighs = MAP_INIT(sizeof(struct addr), sizeof(struct neigh_track), 20000),
	.homes = MAP_INIT(sizeof(struct addr), sizeof(uint32_t), 20000),
	.former = MAP_INIT(sizeof(struct addr), sizeof(uint32_t), 20000),
	.networks = NETWORKS_INIT,
};

static struct dev_track *dev_of(struct window *window, struct state *state, uint32_t ifindex, uint64_t now_ns)
{
	struct dev_track *dev = map_put(&state->devs, &ifindex, NULL);

	if (!dev)
		return NULL;
	if (track_see(window, &dev->track)) {
		struct dev_track last = *dev;

		*dev = (struct dev_track){
			.track = last.track,
			.has_link_base = last.has_link,
			.has_qdisc_base = last.has_qdisc,
			.link_base = last.link,
			.qdisc_base = last.qdisc,
			.has_filters = last.has_filters,
			.filter_drops = last.filter_drops,
			.filter_drops_base = last.filter_drops,
			.base_ns = last.has_link ? last.last_ns : now_ns,
			.backlog_min = UINT64_MAX,
		};
		memcpy(&dev->changes[1], &last.changes[0], sizeof(last.changes) - sizeof(last.changes[0]));
	}
	dev->last_ns = now_ns;
	return dev;
}

static void sample_link(struct dev_track *dev, const struct link_record *link)
{
	if (!dev->has_link_base) {
		dev->link_base = *link;
		dev->has_link_base = true;
	}
	dev->link = *link;
	dev->has_link = true;
}

/* The root stands for all queues below it; without one (multi-queue) the leaves would have to be added up. */
static void sample_qdisc(struct dev_track *dev, const struct qdisc_record *qdisc)
{
	if (strcmp(qdisc->kind, "clsact") == 0 || strcmp(qdisc->kind, "ingress") == 0) {
		if (!dev->has_filters)
			dev->filter_drops_base = qdisc->drops;
		dev->filter_drops = qdisc->drops;
		dev->has_filters = true;
	}
	if (strcmp(qdisc->parent, "root") != 0)
		return;
	if (!dev->has_qdisc_base) {
		dev->qdisc_base = *qdisc;
		dev->has_qdisc_base = true;
	}
	dev->qdisc = *qdisc;
	dev->has_qdisc = true;
	dev->samples++;
	if (qdisc->backlog_bytes == UINT32_MAX)
		return;
	dev->waiting += qdisc->backlog_bytes > 0;
	dev->backlog_min = min_of(dev->backlog_min, qdisc->backlog_bytes);
	dev->backlog_peak = max_of(dev->backlog_peak, qdisc->backlog_bytes);
}

static void sample_tunnel(struct window *window, struct state *state, const struct tunnel_record *tunnel,
			  const struct snapshot *snapshot)
{
	struct tunnel_track *track = map_put(&state->tunnels, &tunnel->ifindex, NULL);
	const struct process_record *process;

	if (!track)
		return;
	if (track_see(window, &track->track))
		*track = (struct tunnel_track){.track = track->track};
	track->pid = tunnel->pid == UINT32_MAX ? 0 : tunnel->pid;
	memcpy(track->kind, tunnel->kind, sizeof(track->kind));
	process = track->pid ? process_find(snapshot, track->pid) : NULL;
	if (!process)
		return;
	track->samples++;
	track->stopped += process->process_state == 'T' || process->process_state == 't';
}

static void sample(struct window *window, void *data, const struct snapshot *snapshot)
{
	struct state *state = data;
	uint64_t now_ns = snapshot->begin_boot_ns;

	snapshot_each(snapshot, link_type, struct link_record, link) {
		struct dev_track *dev = dev_of(window, state, link->ifindex, now_ns);

		if (dev)
			sample_link(dev, link);
	}
	snapshot_each(snapshot, qdisc_type, struct qdisc_record, qdisc) {
		struct dev_track *dev = dev_of(window, state, qdisc->ifindex, now_ns);

		if (dev)
			sample_qdisc(dev, qdisc);
	}
	snapshot_each(snapshot, tunnel_type, struct tunnel_record, tunnel)
		sample_tunnel(window, state, tunnel, snapshot);
	snapshot_each(snapshot, destination_type, struct destination_record, destination) {
		struct route_track *route = map_put(&state->routes, &destination->raddr, NULL);
		uint32_t *former = destination->error == 0 ? map_put(&state->former, &destination->raddr, NULL) : NULL;

		if (route) {
			(void)track_see(window, &route->track);
			route->destination = *destination;
		}
		if (former)
			*former = destination->ifindex;
	}
	snapshot_each(snapshot, neighbour_type, struct neighbour_record, neighbour) {
		struct neigh_track *neigh = map_put(&state->neighs, &neighbour->raddr, NULL);

		if (neigh) {
			(void)track_see(window, &neigh->track);
			neigh->state = neighbour->neigh_state;
		}
	}
	snapshot_each(snapshot, address_type, struct address_record, address) {
		uint32_t *home = map_put(&state->homes, &address->laddr, NULL);

		if (home)
			*home = address->ifindex;
	}
	networks_sample(&state->networks, snapshot);
}

/* --- measures --- */

static void measure_link(struct dev_track *dev, struct egress_measures *m)
{
	const struct link_record *a = &dev->link_base, *b = &dev->link;

	memcpy(m->dev, b->dev, sizeof(m->dev));
	m->link_up = b->flags != UINT32_MAX && (b->flags & IFF_UP);
	m->link_carrier = b->carrier != 0;
	m->link_changes = delta_between32(a->carrier_changes, b->carrier_changes);
	dev->changes[0] = m->link_changes == UINT64_MAX ? 0 : m->link_changes;
	m->link_changes_recent = 0;
	for (unsigned i = 0; i < CHANGE_WINDOWS; i++)
		m->link_changes_recent += dev->changes[i];
	m->link_changes_ever = b->carrier_changes == UINT32_MAX ? UINT64_MAX : b->carrier_changes;
	m->link_mtu = b->mtu == UINT32_MAX ? UINT64_MAX : b->mtu;
	m->link_rx_packets = delta_between(a->rx_packets, b->rx_packets);
	m->link_tx_packets = delta_between(a->tx_packets, b->tx_packets);
	m->link_rx_errors = delta_between(a->rx_errors, b->rx_errors);
	m->link_tx_errors = delta_between(a->tx_errors, b->tx_errors);
	m->link_rx_dropped = delta_between(a->rx_dropped, b->rx_dropped);
	m->link_tx_dropped = delta_between(a->tx_dropped, b->tx_dropped);
	m->tc_drops = dev->has_filters ? delta_between32(dev->filter_drops_base, dev->filter_drops) : UINT64_MAX;
}

static double share_of(double rate, uint64_t whole)
{
	return whole == UINT64_MAX || whole == 0 ? NAN : rate / (double)whole;
}

/* What the hardware below leaves of the traffic. The speed of a virtual interface limits nothing. */
static void measure_hardware(const struct dev_track *dev, struct egress_measures *m)
{
	const struct link_record *a = &dev->link_base, *b = &dev->link;
	uint64_t missed = delta_between(a->rx_missed_errors, b->rx_missed_errors),
		 overruns = delta_between(a->rx_fifo_errors, b->rx_fifo_errors);
	double rx, tx;

	if (b->kind[0] || (b->flags != UINT32_MAX && b->flags & IFF_LOOPBACK))
		return;
	/* Some drivers count a packet in both. */
	m->link_rx_missed = missed == UINT64_MAX     ? overruns
			    : overruns == UINT64_MAX ? missed
						     : max_of(missed, overruns);
	m->link_speed = b->speed == UINT64_MAX ? UINT64_MAX : b->speed / 8;
	m->link_speed_max = b->speed_max == UINT64_MAX ? UINT64_MAX : b->speed_max / 8;
	m->link_bus_rate = b->bus_rate == UINT64_MAX ? UINT64_MAX : b->bus_rate / 8;
	rx = delta_rate(delta_between(a->rx_bytes, b->rx_bytes), dev->last_ns - dev->base_ns);
	tx = delta_rate(delta_between(a->tx_bytes, b->tx_bytes), dev->last_ns - dev->base_ns);
	m->link_rx_use = share_of(rx, m->link_speed);
	m->link_tx_use = share_of(tx, m->link_speed);
	m->link_rx_bus_use = share_of(rx, m->link_bus_rate);
	m->link_tx_bus_use = share_of(tx, m->link_bus_rate);
}

static void measure_qdisc(const struct dev_track *dev, struct egress_measures *m)
{
	const struct qdisc_record *a = &dev->qdisc_base, *b = &dev->qdisc;
	uint64_t sent = delta_between(a->bytes, b->bytes), span_ns = dev->last_ns - dev->base_ns;

	memcpy(m->qdisc_kind, b->kind, sizeof(m->qdisc_kind));
	m->qdisc_drops = delta_between32(a->drops, b->drops);
	m->qdisc_overlimits = delta_between32(a->overlimits, b->overlimits);
	m->qdisc_backlog_min = dev->backlog_min;
	m->qdisc_backlog_peak = dev->backlog_peak;
	m->qdisc_backlog_share = dev->samples ? (double)dev->waiting / dev->samples : NAN;
	m->qdisc_rate = b->rate == 0 ? UINT64_MAX : b->rate;
	m->qdisc_sent_rate =
		sent == UINT64_MAX || span_ns == 0 ? UINT64_MAX : (uint64_t)((double)sent * 1e9 / (double)span_ns);
	if (m->qdisc_rate != UINT64_MAX && m->qdisc_sent_rate != UINT64_MAX)
		m->qdisc_use = (double)m->qdisc_sent_rate / (double)m->qdisc_rate;
	if (m->qdisc_sent_rate != UINT64_MAX && m->qdisc_sent_rate > 0)
		m->qdisc_delay_ns = (uint64_t)((double)m->qdisc_backlog_peak / (double)m->qdisc_sent_rate * 1e9);
}

static bool is_failed(uint16_t state)
{
	return state != UINT16_MAX && (state & (NUD_FAILED | NUD_INCOMPLETE));
}

static struct module *named(struct graph *graph, enum module_kind kind, const char *name)
{
	_cleanup_free_ char *id = xasprintf("%s:%s", module_kind_name(kind), name);

	return graph_module(graph, kind, id, name);
}

static void relate(struct module *conn, struct module *below, struct module *above)
{
	conn->related[below->kind] = below;
	graph_add_edge(above, below);
}

static void join_tunnel(const struct window *window, struct state *state, struct module *conn, uint32_t ifindex,
			struct egress_measures *m, struct graph *graph)
{
	const struct tunnel_track *track = map_get(&state->tunnels, &ifindex);
	struct module *tunnel;

	if (!track || !track_is_current(window, &track->track))
		return;
	m->tunnel_pid = track->pid;
	memcpy(m->tunnel_kind, track->kind, sizeof(m->tunnel_kind));
	if (track->samples > 0)
		m->tunnel_stopped_share = (double)track->stopped / track->samples;
	tunnel = named(graph, MODULE_TUNNEL, m->dev);
	relate(conn, tunnel, conn);
}

static struct dev_track *known_dev(const struct window *window, const struct state *state, uint32_t ifindex)
{
	struct dev_track *dev = map_get(&state->devs, &ifindex);

	return dev && track_is_current(window, &dev->track) && dev->has_link ? dev : NULL;
}

static bool rides_on_another(const struct link_record *link)
{
	static const char *const kinds[] = {"vlan", "macvlan", "macvtap", "ipvlan", "ipvtap", "macsec"};

	if (link->lower == 0 || link->lower == UINT32_MAX || link->lower_netns != UINT32_MAX)
		return false;
	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(link->kind, kinds[i]) == 0)
			return true;
	return false;
}

/*
 * The interface that a bridge or a bond sends by: the only one that it has, or the only one that is hardware. Where
 * there are several, the packets of one connection may take any of them.
 */
static struct dev_track *only_port(const struct window *window, const struct state *state, uint32_t master)
{
	struct dev_track *any = NULL, *hardware = NULL;
	unsigned all = 0, real = 0;

	track_each(window, &state->devs, struct dev_track, dev)
	{
		if (!dev->has_link || dev->link.master != master)
			continue;
		any = dev;
		all++;
		if (dev->link.kind[0] == '\0') {
			hardware = dev;
			real++;
		}
	}
	return all == 1 ? any : real == 1 ? hardware : NULL;
}

static bool is_amiss(const struct dev_track *dev)
{
	const struct link_record *a = &dev->link_base, *b = &dev->link;
	uint64_t drops = dev->has_qdisc ? delta_between32(dev->qdisc_base.drops, dev->qdisc.drops) : 0;
	uint64_t filtered = dev->has_filters ? delta_between32(dev->filter_drops_base, dev->filter_drops) : 0;
	uint64_t errors = delta_between(a->rx_errors, b->rx_errors);
	uint64_t missed = delta_between(a->rx_missed_errors, b->rx_missed_errors);

	return (b->flags != UINT32_MAX && !(b->flags & IFF_UP)) || b->carrier == 0 || dev->waiting > 0 ||
	       (drops != UINT64_MAX && drops > 0) || (filtered != UINT64_MAX && filtered > 0) ||
	       (errors != UINT64_MAX && errors > 0) || (missed != UINT64_MAX && missed > 0);
}

#define LOOPBACK_IFINDEX 1
#define DEVS_MAX         4 /* on top of each other */

/* Of the interfaces below that of the route, each with a queue, the lowest with a fault counts, else the first. */
static struct dev_track *dev_that_counts(const struct window *window, const struct state *state, uint32_t ifindex)
{
	struct dev_track *first = known_dev(window, state, ifindex), *dev = first;

	if (!first || first->counts)
		return first ? known_dev(window, state, first->counts) : NULL;
	first->counts = ifindex;
	for (unsigned i = 0; dev && i < DEVS_MAX; i++) {
		if (i > 0 && is_amiss(dev))
			first->counts = dev->link.ifindex;
		dev = rides_on_another(&dev->link) ? known_dev(window, state, dev->link.lower)
						   : only_port(window, state, dev->link.ifindex);
	}
	return known_dev(window, state, first->counts);
}

/* Interface and queue of the route, or of the local address when the route is gone. */
static void join_dev(const struct window *window, struct state *state, struct module *conn, uint32_t ifindex,
		     struct egress_measures *m, struct graph *graph)
{
	struct dev_track *dev = dev_that_counts(window, state, ifindex);
	struct module *link;

	if (!dev)
		return;
	measure_link(dev, m);
	measure_hardware(dev, m);
	link = named(graph, MODULE_LINK, m->dev);
	if (dev->has_qdisc) {
		struct module *qdisc = named(graph, MODULE_QDISC, m->dev);

		measure_qdisc(dev, m);
		relate(conn, qdisc, conn);
		relate(conn, link, qdisc);
		qdisc->activity =
			m->qdisc_sent_rate != UINT64_MAX && m->qdisc_sent_rate > 0 ? ACTIVITY_ACTIVE : ACTIVITY_UNKNOWN;
	} else {
		relate(conn, link, conn);
	}
	join_tunnel(window, state, conn, ifindex, m, graph);
	/* The firewall stands for all filters, unless those of the interface are at work. */
	if (m->tc_drops != UINT64_MAX && m->tc_drops > 0)
		relate(conn, named(graph, MODULE_FILTER, m->dev), link);
	if (m->link_rx_packets > 0 && m->link_rx_packets != UINT64_MAX)
		link->activity = ACTIVITY_ACTIVE;
	graph_add_edge(link, conn->related[MODULE_PATH]);
}

static void join_neighbour(const struct window *window, struct state *state, struct module *conn,
			   const struct addr *hop, struct egress_measures *m, struct graph *graph)
{
	const struct neigh_track *neigh = map_get(&state->neighs, hop);
	char text[ADDR_TEXT_MAX];

	if (!neigh || !track_is_current(window, &neigh->track))
		return;
	m->neigh_state = neigh->state;
	m->neigh_failed = is_failed(neigh->state);
	addr_format(hop, text);
	relate(conn, named(graph, MODULE_NEIGH, text), conn);
}

/* Nobody looks at the route of a connection within this namespace: it takes the loopback, which is up as a rule. */
static void join_loopback(const struct window *window, struct state *state, struct module *conn,
			  struct egress_measures *m, struct graph *graph)
{
	const struct conn_measures *own = conn->measures.conn;
	const struct dev_track *lo = addr_is_loopback(&own->raddr) || addr_equal(&own->raddr, &own->laddr)
					     ? known_dev(window, state, LOOPBACK_IFINDEX)
					     : NULL;

	if (lo && lo->link.flags != UINT32_MAX && !(lo->link.flags & IFF_UP))
		join_dev(window, state, conn, LOOPBACK_IFINDEX, m, graph);
}

/*
 * The interface that a connection sends by. With an interface the route to its network goes, and its packets take the
 * default route to somewhere that does not know them: unless they arrive, they count for the interface that is down.
 */
static uint32_t outlet_of(const struct state *state, const struct conn_measures *own, uint32_t routed)
{
	const struct outlet *outlet = state->networks.any_down && own->received_bytes == 0 && own->acked_bytes == 0
					      ? networks_find(&state->networks, &own->raddr)
					      : NULL;

	return outlet && !outlet->up ? outlet->ifindex : routed;
}

static struct egress_measures *join(const struct window *window, struct state *state, struct module *conn,
				    struct graph *graph)
{
	const struct conn_measures *own = conn->measures.conn;
	const struct route_track *route = map_get(&state->routes, &own->raddr);
	struct egress_measures *m = graph_alloc(graph, sizeof(*m));
	const uint32_t *home = map_get(&state->homes, &own->laddr), *former = map_get(&state->former, &own->raddr);
	char text[ADDR_TEXT_MAX];

	for (uint32_t i = 0; i < egress_measures_type.field_count; i++)
		value_set_unknown(&egress_measures_type.fields[i], m);
	conn->measures.egress = m;
	if (state->homes.count > 0)
		m->laddr_gone = !home && !addr_is_loopback(&own->laddr);
	if (!route || !track_is_current(window, &route->track)) {
		join_loopback(window, state, conn, m, graph);
		return m;
	}
	addr_format(&own->raddr, text);
	relate(conn, named(graph, MODULE_ROUTE, text), conn);
	m->route_error = route->destination.error;
	m->route_kind = route->destination.route_type;
	m->gateway = route->destination.gateway;
	m->route_mtu = route->destination.path_mtu == UINT32_MAX || route->destination.path_mtu == 0
			       ? UINT64_MAX
			       : route->destination.path_mtu;
	if (route->destination.error == 0)
		join_dev(window, state, conn, outlet_of(state, own, route->destination.ifindex), m, graph);
	else if (former || home)
		join_dev(window, state, conn, former ? *former : *home, m, graph);
	join_neighbour(window, state, conn, m->gateway.family == ADDR_UNKNOWN ? &own->raddr : &m->gateway, m, graph);
	return m;
}

/* It has a queue on the path for itself, and for all that pass the same place. */
#define FILLING_RATIO  1.5
#define FILLING_EXCESS (5 * NSEC_PER_MSEC)

static bool is_filling(const struct conn_measures *m)
{
	return m->notsent_share > 0.5 && m->busy_share > 0.5 && m->rtt_ratio > FILLING_RATIO &&
	       m->rtt_excess_ns != UINT64_MAX && m->rtt_excess_ns > FILLING_EXCESS;
}

struct joined {
	const struct module *conn;
	struct egress_measures *m;
};

static void count_filling(const struct joined *all, size_t count)
{
	struct map links = MAP_INIT(sizeof(struct module *), sizeof(uint64_t), 0);

	for (size_t i = 0; i < count; i++)
		if (is_filling(all[i].conn->measures.conn))
			++*(uint64_t *)map_put(&links, &all[i].conn->related[MODULE_LINK], NULL);
	for (size_t i = 0; i < count; i++) {
		const uint64_t *filling = map_get(&links, &all[i].conn->related[MODULE_LINK]);

		all[i].m->link_filling = filling ? *filling : 0;
	}
	map_done(&links);
}

static void finish(struct window *window, void *data, struct graph *graph)
{
	struct state *state = data;
	VEC(struct joined) all = {};

	for (size_t i = 0, count = graph->modules.count; i < count; i++) {
		struct module *module = graph->modules.items[i];

		if (module->kind == MODULE_CONN)
			vec_push(&all, (struct joined){module, join(window, state, module, graph)});
	}
	count_filling(all.items, all.count);
	vec_done(&all);
	map_done(&state->homes);
	track_forget(window, &state->tunnels, NULL);
	track_forget(window, &state->devs, NULL);
	track_forget(window, &state->routes, NULL);
	track_forget(window, &state->neighs, NULL);
}

static void release(void *data)
{
	struct state *state = data;

	map_done(&state->tunnels);
	map_done(&state->devs);
	map_done(&state->routes);
	map_done(&state->neighs);
	map_done(&state->homes);
	map_done(&state->former);
	networks_done(&state->networks);
}

static const struct measurer egress_measurer = {
	.name = "egress",
	.stage = MEASURE_EGRESS,
	.needs = MEASURER_NEEDS(&link_type, &qdisc_type, &destination_type, &neighbour_type, &address_type,
				&tunnel_type, &process_type),
	.state_size = sizeof(struct state),
	.initial = &initial,
	.sample = sample,
	.finish = finish,
	.release = release,
};
MEASURER(egress_measurer);
