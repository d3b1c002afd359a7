/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interfaces that others are ports of: a bridge that is down discards whatever its ports receive, and nothing behind a
 * port notices but by silence. A port that receives nothing needs no bridge.
 */
#include "diagnose/measure/link_ports.h"

#include <linux/if.h>
#include <string.h>

#include "diagnose/graph/window.h"
#include "diagnose/measure/flow_module.h"
#include "snapshot/core/delta.h"
#include "snapshot/netlink/link.h"

#define L struct link_ports_measures
static const struct field link_ports_fields[] = {
	FIELD(L, ports_of, TEXT, "interface, which is down"),
	FIELD(L, ports_kind, TEXT, "its kind: bridge, bond, vrf"),
	FIELD(L, ports_up, COUNT, "its ports that are up"),
	FIELD(L, ports_packets, COUNT, "packets that these received in this window and the three before"),
	FIELD(L, ports_dev, TEXT, "the port that received most of them"),
};
#undef L
RECORD_TYPE(link_ports_measures_type, "measure.link_ports", struct link_ports_measures, link_ports_fields,
	    "an interface that is down and has ports that are up");

#define KEEP 4 /* windows, the present one included */

struct port_track {
	struct track track;
	bool has_last, up, master_down;
	uint32_t master;
	char dev[16];
	uint64_t packets;
	uint64_t moved[KEEP]; /* received while the master was down; newest first */
};

struct state {
	struct map ports; /* ifindex -> port_track */
	struct map down;  /* ifindex -> struct link_record: interfaces that are down */
};

static const struct state initial = {
	.ports = MAP_INIT(sizeof(uint32_t), sizeof(struct port_track), 10000),
	.down = MAP_INIT(sizeof(uint32_t), sizeof(struct link_record), 10000),
};

static bool is_master(const struct link_record *link)
{
	return link->master != 0 && link->master != UINT32_MAX;
}

static void sample_port(struct window *window, struct state *state, const struct link_record *link)
{
	struct port_track *track = map_put(&state->ports, &link->ifindex, NULL);
	bool master_down = map_get(&state->down, &link->master) != NULL;
	uint64_t moved;

	if (!track) {
		window->lost++;
		return;
	}
	(void)track_see(window, &track->track);
	moved = track->has_last ? delta_between(track->packets, link->rx_packets) : UINT64_MAX;
	if (master_down && track->master_down && moved != UINT64_MAX)
		track->moved[0] += moved;
	track->has_last = true;
	track->up = link->flags & IFF_UP;
	track->master_down = master_down;
	track->master = link->master;
	track->packets = link->rx_packets;
	memcpy(track->dev, link->dev, sizeof(track->dev));
}

static void sample(struct window *window, void *data, const struct snapshot *snapshot)
{
	struct state *state = data;

	map_done(&state->down);
	snapshot_each(snapshot, link_type, struct link_record, link) {
		struct link_record *down = link->flags != UINT32_MAX && !(link->flags & IFF_UP)
						   ? map_put(&state->down, &link->ifindex, NULL)
						   : NULL;

		if (down)
			*down = *link;
	}
	snapshot_each(snapshot, link_type, struct link_record, link)
		if (is_master(link) && link->flags != UINT32_MAX)
			sample_port(window, state, link);
}

static void add_port(const struct state *state, struct graph *graph, const struct port_track *port, uint64_t packets,
		     uint64_t *most)
{
	const struct link_record *master = map_get(&state->down, &port->master);
	struct link_ports_measures *m;
	struct module *module;

	if (!master || !port->up || packets == 0)
		return;
	module = flow_module_below(graph, MODULE_LINK, master->dev);
	m = (struct link_ports_measures *)module->measures.link_ports;
	if (!m) {
		m = graph_alloc(graph, sizeof(*m));
		memcpy(m->ports_of, master->dev, sizeof(m->ports_of));
		memcpy(m->ports_kind, master->kind, sizeof(m->ports_kind));
		module->measures.link_ports = m;
	}
	m->ports_up++;
	m->ports_packets += packets;
	if (packets > *most)
		memcpy(m->ports_dev, port->dev, sizeof(m->ports_dev));
	*most = max_of(*most, packets);
}

static void finish(struct window *window, void *data, struct graph *graph)
{
	struct state *state = data;
	uint64_t most = 0;

	track_each(window, &state->ports, struct port_track, port)
	{
		uint64_t packets = 0;

		for (unsigned i = 0; i < KEEP; i++)
			packets += port->moved[i];
		memmove(&port->moved[1], &port->moved[0], sizeof(port->moved) - sizeof(port->moved[0]));
		port->moved[0] = 0;
		add_port(state, graph, port, packets, &most);
	}
	track_forget(window, &state->ports, NULL);
}

static void release(void *data)
{
	map_done(&((struct state *)data)->ports);
	map_done(&((struct state *)data)->down);
}

static const struct measurer link_ports_measurer = {
	.name = "link-ports",
	.stage = MEASURE_EGRESS,
	.needs = MEASURER_NEEDS(&link_type),
	.state_size = sizeof(struct state),
	.initial = &initial,
	.sample = sample,
	.finish = finish,
	.release = release,
};
MEASURER(link_ports_measurer);
