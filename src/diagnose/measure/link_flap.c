/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interfaces that lose and regain their carrier: a fact also where no socket of this host uses them, as on a router.
 * Only one that has carried packets counts; a port that nobody uses may flap.
 */
#include "diagnose/measure/link_flap.h"

#include <linux/if.h>
#include <string.h>

#include "diagnose/graph/window.h"
#include "diagnose/measure/flow_module.h"
#include "diagnose/measure/host_counters.h"
#include "diagnose/measure/link_ports.h"
#include "snapshot/core/delta.h"
#include "snapshot/netlink/link.h"

#define L struct link_flap_measures
static const struct field link_flap_fields[] = {
	FIELD(L, dev, TEXT, "interface"),
	FIELD(L, flap_changes, COUNT, "carrier changes in this window and the three before"),
	FIELD(L, flap_packets, COUNT, "packets received in the same windows"),
	FIELD(L, flap_ever, COUNT, "carrier changes since the interface was created"),
	FIELD(L, flap_packets_ever, COUNT, "packets received since then"),
};
#undef L
RECORD_TYPE(link_flap_measures_type, "measure.link_flap", struct link_flap_measures, link_flap_fields,
	    "an interface whose carrier flaps");

#define KEEP 4 /* windows, the present one included */

struct link_track {
	struct track track;
	bool has_last;
	char dev[16];
	uint32_t changes;
	uint64_t packets;
	uint64_t moved[KEEP][2]; /* changes and packets; newest first */
};

struct state {
	struct map links; /* ifindex -> link_track */
};

static const struct state initial = {.links = MAP_INIT(sizeof(uint32_t), sizeof(struct link_track), 10000)};

static uint64_t known(uint64_t moved)
{
	return moved == UINT64_MAX ? 0 : moved;
}

/* A link that is taken down and up by hand changes its carrier as well: that is no flapping while it is down. */
static void sample(struct window *window, void *data, const struct snapshot *snapshot)
{
	struct state *state = data;

	snapshot_each(snapshot, link_type, struct link_record, link) {
		struct link_track *track = map_put(&state->links, &link->ifindex, NULL);

		if (!track)
			continue;
		(void)track_see(window, &track->track);
		if (track->has_last && link->flags != UINT32_MAX && link->flags & IFF_UP) {
			track->moved[0][0] += known(delta_between32(track->changes, link->carrier_changes));
			track->moved[0][1] += known(delta_between(track->packets, link->rx_packets));
		}
		track->has_last = true;
		memcpy(track->dev, link->dev, sizeof(track->dev));
		track->changes = link->carrier_changes;
		track->packets = link->rx_packets;
	}
}

static void finish(struct window *window, void *data, struct graph *graph)
{
	struct state *state = data;

	track_each(window, &state->links, struct link_track, track)
	{
		struct link_flap_measures *m, sum = {};

		for (unsigned i = 0; i < KEEP; i++) {
			sum.flap_changes += track->moved[i][0];
			sum.flap_packets += track->moved[i][1];
		}
		memmove(track->moved[1], track->moved[0], sizeof(track->moved) - sizeof(track->moved[0]));
		memset(track->moved[0], 0, sizeof(track->moved[0]));
		if (sum.flap_changes == 0)
			continue;
		m = graph_alloc(graph, sizeof(*m));
		*m = sum;
		m->flap_ever = track->changes == UINT32_MAX ? UINT64_MAX : track->changes;
		m->flap_packets_ever = track->packets;
		memcpy(m->dev, track->dev, sizeof(m->dev));
		flow_module_below(graph, MODULE_LINK, m->dev)->measures.link_flap = m;
	}
	track_forget(window, &state->links, NULL);
}

static void release(void *data)
{
	map_done(&((struct state *)data)->links);
}

static const struct measurer link_flap_measurer = {
	.name = "link-flaps",
	.stage = MEASURE_EGRESS,
	.needs = MEASURER_NEEDS(&link_type),
	.state_size = sizeof(struct state),
	.initial = &initial,
	.sample = sample,
	.finish = finish,
	.release = release,
};
MEASURER(link_flap_measurer);

static const struct module_scope link_scope = {
	.kind = MODULE_LINK, .parts = {MODULE_PART(link_flap), MODULE_PART(link_ports), MODULE_PART(host)}};
MODULE_SCOPE(link_scope);
