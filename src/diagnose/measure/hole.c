/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A receive buffer that uses memory while nothing in it can be read holds segments that came after a missing one. What
 * was only reordered is complete again at once; what was lost takes its sender an RTT, and mostly a timeout.
 * Connections of a request or two are gone soon after, so they are counted for their remote host: a path that loses
 * shows them one after another.
 */
#include "diagnose/measure/hole.h"

#include <math.h>

#include "base/clock.h"
#include "diagnose/graph/window.h"
#include "diagnose/measure/conn.h"
#include "snapshot/socket/socket.h"

#define M struct hole_measures
static const struct field hole_fields[] = {
	FIELD(M, hole_ns, DURATION,
	      "longest time in the last three windows that received data was queued behind a missing segment"),
	FIELD(M, path_holes, COUNT,
	      "connections to this remote host, open or ended since, that waited so with less than 1 MB received"),
	FIELD(M, path_hole_share, RATIO, "their share of those that received anything", .unit = "%"),
	FIELD(M, path_unordered, COUNT, "likewise, those on which segments arrived out of order"),
	FIELD(M, path_unordered_share, RATIO, "share of these", .unit = "%"),
};
#undef M
RECORD_TYPE(hole_measures_type, "measure.hole", struct hole_measures, hole_fields,
	    "missing segments in front of received ones");

#define WINDOWS 3
/* Reordering is over by then; and a segment that is retransmitted at once is back after an RTT. */
#define HOLE_LEAST_NS (40 * NSEC_PER_MSEC)
#define HOLE_RTTS     2
/* A longer connection loses a segment now and then. */
#define SHORT_BYTES 1000000

struct hole_track {
	struct track track;
	struct addr raddr;
	uint64_t hole_ns[WINDOWS]; /* newest first */
	bool is_short, receives;
	bool unordered;
	uint32_t rcv_ooopack; /* when it was first seen, if that was before the run */
	bool counted, counted_hole, counted_unordered;
};

/* Short connections of a remote host: those that began to receive, or to wait so, in each window; newest first. */
struct host_track {
	uint64_t receiving[WINDOWS], holes[WINDOWS], unordered[WINDOWS];
};

struct state {
	struct map tracks; /* cookie -> struct hole_track */
	struct map hosts;  /* struct addr -> struct host_track */
};

static const struct state initial = {
	.tracks = MAP_INIT(sizeof(uint64_t), sizeof(struct hole_track), 1000000),
	.hosts = MAP_INIT(sizeof(struct addr), sizeof(struct host_track), 100000),
};

static bool is_receiving(const struct socket_record *s)
{
	return s->state == SOCKET_ESTABLISHED || s->state == SOCKET_FIN_WAIT1 || s->state == SOCKET_FIN_WAIT2;
}

/* How long received data has been queued behind a missing segment; 0: none is. */
static uint64_t hole_of(const struct socket_record *s, const struct tcp_record *t)
{
	uint64_t rtt_ns = t->srtt_ns == UINT64_MAX ? 0 : t->srtt_ns;

	if (!is_receiving(s) || s->recvq_bytes != 0 || s->rmem_bytes == UINT32_MAX || s->rmem_bytes == 0 ||
	    t->rcv_ooopack == UINT32_MAX || t->rcv_ooopack == 0 || t->last_received_ns == UINT64_MAX)
		return 0;
	return t->last_received_ns >= max_of(HOLE_LEAST_NS, HOLE_RTTS * rtt_ns) ? t->last_received_ns : 0;
}

static void sample(struct window *window, void *data, const struct snapshot *snapshot)
{
	struct state *state = data;

	snapshot_each(snapshot, socket_type, const struct socket_record, s) {
		const struct tcp_record *t = s->proto == 6 ? socket_tcp(snapshot, s) : NULL;
		struct hole_track *h;
		bool is_new;

		if (!t || s->cookie == UINT64_MAX)
			continue;
		h = map_put(&state->tracks, &s->cookie, &is_new);
		if (!h) {
			window->lost++;
			continue;
		}
		if (track_see(window, &h->track)) {
			memmove(&h->hole_ns[1], &h->hole_ns[0], sizeof(h->hole_ns) - sizeof(h->hole_ns[0]));
			h->hole_ns[0] = 0;
		}
		if (is_new && window->number == 0 && window->samples == 1)
			h->rcv_ooopack = t->rcv_ooopack;
		h->raddr = s->raddr;
		h->unordered = t->rcv_ooopack != UINT32_MAX && t->rcv_ooopack != h->rcv_ooopack;
		h->hole_ns[0] = max_of(h->hole_ns[0], hole_of(s, t));
		h->receives = t->data_segs_in != UINT32_MAX && t->data_segs_in > 0;
		h->is_short = t->bytes_received != UINT64_MAX && t->bytes_received < SHORT_BYTES;
	}
}

static uint64_t longest_of(const struct hole_track *h)
{
	uint64_t longest = 0;

	for (unsigned i = 0; i < WINDOWS; i++)
		longest = max_of(longest, h->hole_ns[i]);
	return longest;
}

/* Ended connections are still among the tracks of the window that they ended in. */
static void count_for_hosts(const struct window *window, struct state *state)
{
	track_each(window, &state->tracks, struct hole_track, h)
	{
		bool first = h->receives && h->is_short && !h->counted;
		bool hole = h->hole_ns[0] > 0 && h->is_short && !h->counted_hole;
		bool unordered = h->unordered && h->is_short && !h->counted_unordered;
		struct host_track *host;

		if (!first && !hole && !unordered)
			continue;
		host = map_put(&state->hosts, &h->raddr, NULL);
		if (!host)
			continue;
		host->receiving[0] += first;
		host->holes[0] += hole;
		host->unordered[0] += unordered;
		h->counted_unordered |= unordered;
		h->counted |= first;
		h->counted_hole |= hole;
	}
}

static uint64_t sum_of(const uint64_t *windows)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < WINDOWS; i++)
		sum += windows[i];
	return sum;
}

static void measure(const struct state *state, const struct hole_track *h, const struct conn_measures *own,
		    struct hole_measures *m)
{
	const struct host_track *host = map_get(&state->hosts, &own->raddr);
	uint64_t receiving = host ? sum_of(host->receiving) : 0;

	m->hole_ns = h ? longest_of(h) : 0;
	m->path_holes = host ? sum_of(host->holes) : 0;
	m->path_unordered = host ? sum_of(host->unordered) : 0;
	m->path_hole_share = receiving ? fmin(1, (double)m->path_holes / (double)receiving) : NAN;
	m->path_unordered_share = receiving ? fmin(1, (double)m->path_unordered / (double)receiving) : NAN;
}

static void age_hosts(struct map *hosts)
{
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(hosts, &at, &key, &value)) {
		struct host_track *host = value;

		memmove(&host->receiving[1], &host->receiving[0], sizeof(host->receiving) - sizeof(host->receiving[0]));
		memmove(&host->holes[1], &host->holes[0], sizeof(host->holes) - sizeof(host->holes[0]));
		memmove(&host->unordered[1], &host->unordered[0], sizeof(host->unordered) - sizeof(host->unordered[0]));
		host->receiving[0] = host->holes[0] = host->unordered[0] = 0;
		if (sum_of(host->receiving) + sum_of(host->holes) + sum_of(host->unordered) == 0)
			(void)map_remove(hosts, key);
	}
}

static void finish(struct window *window, void *data, struct graph *graph)
{
	struct state *state = data;

	count_for_hosts(window, state);
	vec_each(&graph->modules, at) {
		const struct conn_measures *own = (*at)->measures.conn;
		const struct hole_track *h = own ? map_get(&state->tracks, &own->cookie) : NULL;
		struct hole_measures *m;

		if (!own || (*at)->kind != MODULE_CONN)
			continue;
		m = graph_alloc(graph, sizeof(*m));
		measure(state, h, own, m);
		(*at)->measures.hole = m;
		/* For the rest, however long ago it was heard of. */
		if (h && h->hole_ns[0] > 0 && (*at)->activity == ACTIVITY_IDLE)
			module_set_waiting(*at);
	}
	age_hosts(&state->hosts);
	track_forget(window, &state->tracks, NULL);
}

static void release(void *data)
{
	map_done(&((struct state *)data)->tracks);
	map_done(&((struct state *)data)->hosts);
}

static const struct measurer hole_measurer = {
	.name = "hole",
	.stage = MEASURE_HOST, /* after the connections */
	.needs = MEASURER_NEEDS(&socket_type, &tcp_type),
	.state_size = sizeof(struct state),
	.initial = &initial,
	.sample = sample,
	.finish = finish,
	.release = release,
};
MEASURER(hole_measurer);
