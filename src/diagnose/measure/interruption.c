/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interruptions: a connection had data in flight and received nothing, then it resumed. One alone may be its own bad
 * luck; those that hit all connections of a path at the same moments, while none of them moved, are the path's. This
 * needs no past: it works in the first seconds of a look that begins long after the trouble did.
 */
#include "diagnose/measure/interruption.h"

#include <math.h>

#include "base/clock.h"
#include "diagnose/graph/window.h"
#include "diagnose/measure/conn.h"
#include "diagnose/measure/egress.h"
#include "diagnose/measure/gap_track.h"
#include "snapshot/core/delta.h"
#include "snapshot/netlink/link.h"
#include "snapshot/socket/socket.h"

#define M struct interruption_measures
static const struct field interruption_fields[] = {
	FIELD(M, gap_count, COUNT,
	      "interruptions that ended in the last 3 s: data in flight, a retransmission timeout, nothing received"),
	FIELD(M, gap_ns, DURATION, "longest of these, at least"),
	FIELD(M, gap_timeouts, COUNT, "retransmission timeouts in the longest"),
	FIELD(M, gap_open_ns, DURATION, "age of one in progress; 0: none"),
	FIELD(M, gap_conns, COUNT, "other connections to this host interrupted at the same time"),
	FIELD(M, gap_others, COUNT, "connections to other hosts interrupted at the same time"),
	FIELD(M, gap_path_quiet_ns, DURATION,
	      "longest time within one of them, or one in progress, without progress of any connection to this host"),
	FIELD(M, gap_host_quiet_ns, DURATION, "the same of any connection"),
	FIELD(M, path_gap_ns, DURATION,
	      "longest time without progress of any connection to this host in the interruptions of any of them"),
	FIELD(M, gap_link_changes, COUNT, "carrier changes of the outgoing interface during these"),
	FIELD(M, gap_retrans, COUNT, "segments retransmitted in these"),
	FIELD(M, gap_free_retrans, COUNT, "segments retransmitted outside of interruptions in the last three windows"),
	FIELD(M, gap_free_share, RATIO, "these, as a share of all retransmissions", .unit = "%"),
	FIELD(M, window_gap_count, COUNT, "times in the last 3 s that a zero window stopped it and opened again"),
	FIELD(M, window_gap_ns, DURATION, "longest of these, at least"),
	FIELD(M, window_gap_share, RATIO, "their share of the last 3 s", .unit = "%"),
	FIELD(M, hush_count, COUNT, "pauses of a steady stream of received data that ended in the last 3 s"),
	FIELD(M, hush_ns, DURATION, "longest of these, at least"),
	FIELD(M, hush_conns, COUNT,
	      "other connections that paused or were interrupted at the same time; to the same host: of other ports"),
	FIELD(M, hush_quiet_ns, DURATION, "longest time within one of them without progress of any connection"),
};
#undef M
RECORD_TYPE(interruption_measures_type, "measure.interruption", struct interruption_measures, interruption_fields,
	    "interruptions of a connection");

/* Interruptions are remembered for so long after their end: what comes every other second is there all the time. */
#define MEMORY_NS (3 * NSEC_PER_SEC)
/* Interruptions that are compared with each other. */
#define COMPARED_MAX 1024
/* Carrier changes kept per interface, and how long before the last progress one may have been. */
#define CHANGES      16
#define BEFORE_NS    (300 * NSEC_PER_MSEC)
#define DEVS_COUNTED 4096

struct dev_log {
	struct track track;
	char dev[16];
	uint32_t last; /* carrier_changes */
	uint64_t time_ns[CHANGES];
	uint32_t count[CHANGES];
	unsigned changes; /* of all */
};

struct state {
	struct gap_tracks gaps;
	struct map devs; /* ifindex -> struct dev_log */
	uint64_t first_ns, now_ns;
};

static const struct state initial = {
	.gaps = GAP_TRACKS_INIT,
	.devs = MAP_INIT(sizeof(uint32_t), sizeof(struct dev_log), DEVS_COUNTED),
};

static void note_changes(struct window *window, struct state *state, const struct link_record *link)
{
	bool is_new;
	struct dev_log *log = map_put(&state->devs, &link->ifindex, &is_new);
	uint64_t changes;

	if (!log)
		return;
	(void)track_see(window, &log->track);
	memcpy(log->dev, link->dev, sizeof(log->dev));
	changes = is_new ? 0 : delta_between32(log->last, link->carrier_changes);
	log->last = link->carrier_changes;
	if (changes == 0 || changes == UINT64_MAX)
		return;
	log->time_ns[log->changes % CHANGES] = state->now_ns;
	log->count[log->changes++ % CHANGES] = (uint32_t)changes;
}

static void sample(struct window *window, void *data, const struct snapshot *snapshot)
{
	struct state *state = data;
	uint64_t lost = state->gaps.lost;

	state->now_ns = snapshot->sockets_boot_ns ?: snapshot->begin_boot_ns;
	if (state->first_ns == 0)
		state->first_ns = state->now_ns;
	gap_tracks_add(&state->gaps, snapshot);
	window->lost += state->gaps.lost - lost;
	snapshot_each(snapshot, link_type, const struct link_record, link)
		note_changes(window, state, link);
}

/* --- measures --- */

static uint64_t changes_during(const struct dev_log *log, const struct gap *gap)
{
	uint64_t sum = 0;

	for (unsigned i = 0; log && i < min_of(log->changes, (unsigned)CHANGES); i++)
		if (log->time_ns[i] + BEFORE_NS > gap->begin_ns && log->time_ns[i] <= gap->end_ns + BEFORE_NS)
			sum += log->count[i];
	return sum;
}

static const struct dev_log *log_of(const struct window *window, const struct state *state, const char *dev)
{
	track_each(window, &state->devs, struct dev_log,
		   log) if (dev[0] && strncmp(log->dev, dev, sizeof(log->dev)) == 0) return log;
	return NULL;
}

struct scope {
	const struct gap_entry *items;
	size_t count;
	const struct dev_log *log;
	uint64_t since_ns, span_ns;
};

static void add_interruption(struct interruption_measures *m, const struct gap_conn *conn, const struct gap *gap,
			     const struct scope *scope)
{
	struct gap_company company = gap_company_of(conn, gap, scope->items, scope->count);

	if (gap_span(gap) > m->gap_ns) {
		m->gap_ns = gap_span(gap);
		m->gap_timeouts = gap->timeouts;
	}
	m->gap_count++;
	m->gap_conns = max_of(m->gap_conns, company.path);
	m->gap_others = max_of(m->gap_others, company.others);
	m->gap_path_quiet_ns = max_of(m->gap_path_quiet_ns, gap->path_quiet_ns);
	m->gap_host_quiet_ns = max_of(m->gap_host_quiet_ns, gap->host_quiet_ns);
	m->gap_link_changes += changes_during(scope->log, gap);
	m->gap_retrans += gap->retrans;
}

static void add_hush(struct interruption_measures *m, const struct gap_conn *conn, const struct gap *gap,
		     const struct scope *scope)
{
	struct gap_company company = gap_company_of(conn, gap, scope->items, scope->count);

	m->hush_count++;
	m->hush_ns = max_of(m->hush_ns, gap_span(gap));
	m->hush_conns = max_of(m->hush_conns, company.path + company.others);
	m->hush_quiet_ns = max_of(m->hush_quiet_ns, gap->host_quiet_ns);
}

static void measure(struct interruption_measures *m, const struct gap_conn *conn, const struct scope *scope)
{
	uint64_t closed_ns = 0;
	const struct gap *gap;
	unsigned at = 0;

	*m = (struct interruption_measures){};
	while ((gap = gap_next(conn, scope->since_ns, &at))) {
		if (gap->kind == GAP_UNACKED && !gap->heard)
			add_interruption(m, conn, gap, scope);
		if (gap->kind == GAP_SILENT)
			add_hush(m, conn, gap, scope);
		if (gap->kind != GAP_ZERO_WINDOW)
			continue;
		m->window_gap_count++;
		m->window_gap_ns = max_of(m->window_gap_ns, gap_span(gap));
		closed_ns += gap_span(gap);
	}
	if (conn->now.kind == GAP_UNACKED && !conn->now.heard) {
		m->gap_open_ns = gap_span(&conn->now);
		m->gap_path_quiet_ns = max_of(m->gap_path_quiet_ns, conn->now.path_quiet_ns);
	}
	for (unsigned i = 0; i < GAPS_WINDOWS; i++)
		m->gap_free_retrans += conn->outside[i];
	m->gap_free_share = m->gap_retrans + m->gap_free_retrans > 0
				    ? (double)m->gap_free_retrans / (double)(m->gap_retrans + m->gap_free_retrans)
				    : NAN;
	m->window_gap_share = scope->span_ns ? fmin(1, (double)closed_ns / (double)scope->span_ns) : NAN;
}

/* One connection of this window. */
struct measured {
	const struct module *path;
	struct interruption_measures *measures;
};

/* A request or a reply that was lost in an interruption is late, also on connections that had nothing in flight. */
static void share_gaps(const struct measured *all, size_t count)
{
	struct map paths = MAP_INIT(sizeof(struct module *), sizeof(uint64_t), 1000000);

	for (unsigned pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < count; i++) {
			struct interruption_measures *m = all[i].measures;
			uint64_t *longest_ns = map_put(&paths, &all[i].path, NULL);

			if (longest_ns && pass == 0 && m->gap_count > 0)
				*longest_ns = max_of(*longest_ns, m->gap_path_quiet_ns);
			m->path_gap_ns = longest_ns ? *longest_ns : UINT64_MAX;
		}
	map_done(&paths);
}

static void finish(struct window *window, void *data, struct graph *graph)
{
	struct state *state = data;
	_cleanup_free_ struct gap_entry *items = xmalloc(COMPARED_MAX * sizeof(*items));
	struct scope scope = {.items = items};
	VEC(struct measured) measured = {};

	scope.since_ns = state->now_ns > MEMORY_NS ? state->now_ns - MEMORY_NS : 0;
	scope.span_ns = min_of(state->now_ns - state->first_ns, (uint64_t)MEMORY_NS);
	scope.count = gap_tracks_list(&state->gaps, scope.since_ns, items, COMPARED_MAX);
	vec_each(&graph->modules, at) {
		const struct conn_measures *own = (*at)->measures.conn;
		const struct gap_conn *conn = own ? map_get(&state->gaps.conns, &own->cookie) : NULL;
		struct interruption_measures *m;

		if (!conn || (*at)->kind != MODULE_CONN)
			continue;
		scope.log = conn->past_count > 0 && (*at)->measures.egress
				    ? log_of(window, state, (*at)->measures.egress->dev)
				    : NULL;
		m = graph_alloc(graph, sizeof(*m));
		measure(m, conn, &scope);
		(*at)->measures.interruption = m;
		vec_push(&measured, ((struct measured){(*at)->related[MODULE_PATH], m}));
	}
	share_gaps(measured.items, measured.count);
	vec_done(&measured);
	gap_tracks_end_window(&state->gaps);
	track_forget(window, &state->devs, NULL);
}

static void release(void *data)
{
	struct state *state = data;

	gap_tracks_done(&state->gaps);
	map_done(&state->devs);
}

static const struct measurer interruption_measurer = {
	.name = "interruption",
	.stage = MEASURE_HOST, /* after the interfaces */
	.needs = MEASURER_NEEDS(&socket_type, &tcp_type, &link_type),
	.state_size = sizeof(struct state),
	.initial = &initial,
	.sample = sample,
	.finish = finish,
	.release = release,
};
MEASURER(interruption_measurer);
