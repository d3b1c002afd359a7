/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loss that comes in spells is its own baseline: the same connection moves fast while nothing is lost and slowly while
 * something is. Where a connection loses because it fills a queue, it moves as much while it loses as otherwise.
 */
#include "diagnose/measure/spell.h"

#include <math.h>

#include "base/clock.h"
#include "diagnose/graph/window.h"
#include "diagnose/measure/conn.h"
#include "diagnose/measure/gap_track.h"
#include "snapshot/core/delta.h"
#include "snapshot/socket/socket.h"

#define M struct spell_measures
static const struct field spell_fields[] = {
	FIELD(M, spell_count, COUNT,
	      "times in the last 3 s that it began to lose segments, in the direction of its data"),
	FIELD(M, spell_share, RATIO, "share of that time between two samples with a loss", .unit = "%"),
	FIELD(M, spell_rate, BYTES, "data moved per second in that share", .unit = "B/s"),
	FIELD(M, calm_rate, BYTES, "the same in the rest of the time; unknown below 0.4 s", .unit = "B/s"),
	FIELD(M, spell_slowdown, RATIO, "the former, as a share of the latter", .unit = "%"),
};
#undef M
RECORD_TYPE(spell_measures_type, "measure.spell", struct spell_measures, spell_fields,
	    "loss in spells, and what it costs");

/* The last intervals between samples: 3 s, at five samples per second. */
#define INTERVALS   15
#define CALM_ENOUGH (400 * NSEC_PER_MSEC)
#define CA_RECOVERY 3 /* TCP_CA_Recovery, and TCP_CA_Loss above it */

struct interval {
	uint64_t span_ns, bytes;
	bool lossy;
};

struct spell_track {
	struct track track;
	uint64_t sample_ns, bytes_acked, bytes_received;
	uint32_t total_retrans, dsack_dups, rcv_ooopack;
	unsigned count; /* of all intervals */
	struct interval intervals[INTERVALS];
};

struct state {
	struct map tracks; /* cookie -> struct spell_track */
};

static const struct state initial = {MAP_INIT(sizeof(uint64_t), sizeof(struct spell_track), 100000)};

static uint64_t grown(uint64_t before, uint64_t now)
{
	uint64_t delta = delta_between(before, now);

	return delta == UINT64_MAX ? 0 : delta;
}

static uint64_t grown32(uint32_t before, uint32_t now)
{
	uint64_t delta = delta_between32(before, now);

	return delta == UINT64_MAX ? 0 : delta;
}

/* What had arrived already was not lost. */
static bool lost_sending(const struct spell_track *s, const struct tcp_record *t)
{
	return t->ca_state >= CA_RECOVERY ||
	       grown32(s->total_retrans, t->total_retrans) > grown32(s->dsack_dups, t->dsack_dups);
}

static void add_interval(struct spell_track *s, const struct tcp_record *t, uint64_t now_ns)
{
	uint64_t sent = grown(s->bytes_acked, t->bytes_acked), received = grown(s->bytes_received, t->bytes_received);
	bool sends =
		t->bytes_acked != UINT64_MAX && t->bytes_received != UINT64_MAX && t->bytes_acked >= t->bytes_received;

	s->intervals[s->count++ % INTERVALS] = (struct interval){
		.span_ns = now_ns - min_of(now_ns, s->sample_ns),
		.bytes = sends ? sent : received,
		.lossy = sends ? lost_sending(s, t) : grown32(s->rcv_ooopack, t->rcv_ooopack) > 0,
	};
}

static void sample(struct window *window, void *data, const struct snapshot *snapshot)
{
	uint64_t now_ns = snapshot->sockets_boot_ns ?: snapshot->begin_boot_ns;
	struct state *state = data;

	snapshot_each(snapshot, socket_type, const struct socket_record, socket) {
		const struct tcp_record *t = socket->proto == 6 ? socket_tcp(snapshot, socket) : NULL;
		struct spell_track *s;
		bool is_new;

		if (!t || socket->cookie == UINT64_MAX || gap_is_at_rest(t))
			continue;
		s = map_put(&state->tracks, &socket->cookie, &is_new);
		if (!s) {
			window->lost++;
			continue;
		}
		(void)track_see(window, &s->track);
		if (!is_new)
			add_interval(s, t, now_ns);
		s->sample_ns = now_ns;
		s->bytes_acked = t->bytes_acked;
		s->bytes_received = t->bytes_received;
		s->total_retrans = t->total_retrans;
		s->dsack_dups = t->dsack_dups;
		s->rcv_ooopack = t->rcv_ooopack;
	}
}

static uint64_t rate_of(const struct interval *sum)
{
	return sum->span_ns ? (uint64_t)((double)sum->bytes * 1e9 / (double)sum->span_ns) : UINT64_MAX;
}

static void measure(const struct spell_track *s, struct spell_measures *m)
{
	unsigned kept = min_of(s->count, (unsigned)INTERVALS);
	struct interval sums[2] = {};
	bool before = true; /* one that lasts since before did not begin here */

	for (unsigned i = s->count - kept; i < s->count; i++) {
		const struct interval *interval = &s->intervals[i % INTERVALS];

		sums[interval->lossy].span_ns += interval->span_ns;
		sums[interval->lossy].bytes += interval->bytes;
		m->spell_count += interval->lossy && !before;
		before = interval->lossy;
	}
	m->spell_share = sums[0].span_ns + sums[1].span_ns > 0
				 ? (double)sums[1].span_ns / (double)(sums[0].span_ns + sums[1].span_ns)
				 : NAN;
	m->spell_rate = rate_of(&sums[1]);
	m->calm_rate = sums[0].span_ns >= CALM_ENOUGH ? rate_of(&sums[0]) : UINT64_MAX;
	m->spell_slowdown = m->spell_rate != UINT64_MAX && m->calm_rate != UINT64_MAX && m->calm_rate > 0
				    ? (double)m->spell_rate / (double)m->calm_rate
				    : NAN;
}

static void finish(struct window *window, void *data, struct graph *graph)
{
	struct state *state = data;

	vec_each(&graph->modules, at) {
		const struct conn_measures *own = (*at)->measures.conn;
		const struct spell_track *s = own ? map_get(&state->tracks, &own->cookie) : NULL;
		struct spell_measures *m;

		if (!s || (*at)->kind != MODULE_CONN || s->count == 0)
			continue;
		m = graph_alloc(graph, sizeof(*m));
		*m = (struct spell_measures){};
		measure(s, m);
		(*at)->measures.spell = m;
	}
	track_forget(window, &state->tracks, NULL);
}

static void release(void *data)
{
	map_done(&((struct state *)data)->tracks);
}

static const struct measurer spell_measurer = {
	.name = "spell",
	.stage = MEASURE_HOST, /* after the connections */
	.needs = MEASURER_NEEDS(&socket_type, &tcp_type),
	.state_size = sizeof(struct state),
	.initial = &initial,
	.sample = sample,
	.finish = finish,
	.release = release,
};
MEASURER(spell_measurer);
