/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Remote services that refuse connections or reset them, as seen on the wire (probe/wire.h). */
#include "diagnose/measure/refusal.h"

#include <math.h>

#include "diagnose/graph/window.h"
#include "probe/reset_tally.h"
#include "probe/wire.h"
#include "snapshot/core/delta.h"
#include "snapshot/proc/counter.h"

static const struct field peer_fields[] = {
	FIELD(struct peer_measures, raddr, ADDR, "remote address"),
	FIELD(struct peer_measures, rport, ID, "remote port", .zero_is_unknown = true),
	FIELD(struct peer_measures, peer_refused, COUNT, "connections that it refused"),
	FIELD(struct peer_measures, peer_resets, COUNT, "other resets that it sent"),
	FIELD(struct peer_measures, recent_resets, COUNT, "the same in the last three windows"),
	FIELD(struct peer_measures, recent_host_resets, COUNT,
	      "established connections of this host that were reset in the same time (TcpEstabResets)"),
	FIELD(struct peer_measures, refused_here, COUNT, "connections that this host itself refused in its name"),
	FIELD(struct peer_measures, recent_rejected, COUNT,
	      "UDP datagrams that it rejected (ICMP) in the last three windows"),
	FIELD(struct peer_measures, resets_followed, COUNT,
	      "resets of established connections, since the first, of which it is known what they followed"),
	FIELD(struct peer_measures, resets_answered_share, RATIO,
	      "of these, after the whole answer to a request, with nothing to wait for", .unit = "%"),
};
RECORD_TYPE(peer_measures_type, "measure.peer", struct peer_measures, peer_fields,
	    "measures of a remote service in a window");

/* Windows that single resets are added up over. */
#define RECENT 3

struct peer_track {
	struct track track;
	struct refusal_record base, last;
	uint64_t begin[RECENT];      /* resets at the begin of the last windows, newest first */
	uint64_t rejected[RECENT];   /* rejected datagrams likewise */
	uint64_t followed, answered; /* resets whose moment is known (probe/reset_tally.h), and those after an answer */
};

struct state {
	struct map peers; /* struct endpoint -> peer_track */
	bool begun;
	uint64_t resets, begin[RECENT]; /* of the whole host: now, and at the begin of the last windows, newest first */
};

static const struct state initial = {.peers = MAP_INIT(sizeof(struct endpoint), sizeof(struct peer_track), 10000)};

static void sample_host(const struct window *window, struct state *state, const struct snapshot *snapshot)
{
	uint64_t now = counter_find(snapshot, window->netns, "TcpEstabResets");

	for (unsigned i = 0; !state->begun && i < RECENT; i++)
		state->begin[i] = now;
	state->begun = true;
	state->resets = now;
}

static void age_host(struct state *state)
{
	memmove(&state->begin[1], &state->begin[0], sizeof(state->begin) - sizeof(state->begin[0]));
	state->begin[0] = state->resets;
}

/* What resets of a service followed: running totals. */
static void sample_moments(struct state *state, const struct snapshot *snapshot)
{
	const void *known;
	void *value;
	size_t at = 0;

	while (map_next(&state->peers, &at, &known, &value))
		((struct peer_track *)value)->followed = ((struct peer_track *)value)->answered = 0;
	snapshot_each(snapshot, reset_type, struct reset_record, reset) {
		struct endpoint key = {};
		struct peer_track *peer;

		key.addr = reset->raddr;
		key.port = reset->rport;
		peer = map_get(&state->peers, &key);
		if (!peer)
			continue;
		peer->followed += reset->resets;
		peer->answered += reset->after == RESET_AFTER_ANSWER ? reset->resets : 0;
	}
}

/* Counters of one that is new began at zero when it was first seen. */
static void sample(struct window *window, void *data, const struct snapshot *snapshot)
{
	struct state *state = data;

	sample_host(window, state, snapshot);
	snapshot_each(snapshot, refusal_type, struct refusal_record, refusal) {
		struct endpoint key;
		struct peer_track *peer;

		memset(&key, 0, sizeof(key));
		key.addr = refusal->raddr;
		key.port = refusal->rport;
		peer = map_put(&state->peers, &key, NULL);
		if (!peer)
			continue;
		if (track_see(window, &peer->track)) {
			peer->base = peer->last;
			memmove(&peer->begin[1], &peer->begin[0], sizeof(peer->begin) - sizeof(peer->begin[0]));
			peer->begin[0] = peer->last.resets;
			memmove(&peer->rejected[1], &peer->rejected[0],
				sizeof(peer->rejected) - sizeof(peer->rejected[0]));
			peer->rejected[0] = peer->last.datagrams;
		}
		peer->last = *refusal;
	}
	sample_moments(state, snapshot);
}

const struct peer_measures *refusal_none(struct graph *graph, const struct endpoint *remote)
{
	struct peer_measures *m = graph_alloc(graph, sizeof(*m));

	m->raddr = remote->addr;
	m->rport = remote->port;
	m->resets_answered_share = NAN;
	return m;
}

static void finish(struct window *window, void *data, struct graph *graph)
{
	struct state *state = data;

	track_each(window, &state->peers, const struct peer_track, peer)
	{
		struct endpoint remote = {peer->last.raddr, peer->last.rport};
		struct peer_measures *m = graph_alloc(graph, sizeof(*m));
		_cleanup_buf_ struct buf id = BUF_INIT(256);

		*m = (struct peer_measures){
			.raddr = peer->last.raddr,
			.rport = peer->last.rport,
			.peer_refused = delta_between(peer->base.refused, peer->last.refused),
			.peer_resets = delta_between(peer->base.resets, peer->last.resets),
			.recent_resets = delta_between(peer->begin[RECENT - 1], peer->last.resets),
			.recent_host_resets = delta_between(state->begin[RECENT - 1], state->resets),
			.refused_here = delta_between(peer->base.here, peer->last.here),
			.recent_rejected = delta_between(peer->rejected[RECENT - 1], peer->last.datagrams),
			.resets_followed = peer->followed,
			.resets_answered_share =
				peer->followed > 0 ? (double)peer->answered / (double)peer->followed : NAN,
		};
		if (m->peer_refused == 0 && m->recent_resets == 0 && m->refused_here == 0 && m->recent_rejected == 0)
			continue;
		buf_add_text(&id, "peer:");
		addr_format_endpoint(&remote, &id);
		graph_module(graph, MODULE_PEER, buf_text(&id), buf_text(&id) + strlen("peer:"))->measures.peer = m;
	}
	track_forget(window, &state->peers, NULL);
	age_host(state);
}

static void release(void *data)
{
	map_done(&((struct state *)data)->peers);
}

static const struct measurer refusal_measurer = {
	.name = "refusal",
	.stage = MEASURE_PATH,
	.needs = MEASURER_NEEDS(&refusal_type, &reset_type, &counter_type),
	.state_size = sizeof(struct state),
	.initial = &initial,
	.sample = sample,
	.finish = finish,
	.release = release,
};
MEASURER(refusal_measurer);
