/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "diagnose/measure/far_end.h"

#include <math.h>
#include <stdio.h>

#include "diagnose/measure/app.h"
#include "diagnose/measure/conn.h"
#include "diagnose/measure/dropped.h"
#include "diagnose/measure/exchange.h"

#define M struct far_end_measures
static const struct field far_end_fields[] = {
	FIELD(M, conn, TEXT, "the connection"),
	FIELD(M, far_host, TEXT, "host of the other end"),
	FIELD(M, far_pid, ID, "process at the other end", .zero_is_unknown = true),
	FIELD(M, far_comm, TEXT, "its name"),
	FIELD(M, far_clock_error_ns, DURATION, "how far off the alignment of the two clocks may be"),
	FIELD(M, out_bytes, BYTES, "sent here in the window, without retransmissions"),
	FIELD(M, out_arrived_bytes, BYTES, "received there in the window, in order"),
	FIELD(M, out_segs, COUNT, "segments with data sent here in the last three windows, retransmissions included"),
	FIELD(M, out_arrived_segs, COUNT, "of them, segments that arrived there"),
	FIELD(M, out_lost_segs, COUNT, "of them, segments that did not arrive"),
	FIELD(M, out_lost_share, RATIO, "share of the segments sent here that did not arrive there", .unit = "%"),
	FIELD(M, out_steady_share, RATIO, "lowest share of the last three windows that was retransmitted and needed",
	      .unit = "%"),
	FIELD(M, out_missing_bytes, BYTES, "sent here at least two RTTs ago and not received there"),
	FIELD(M, out_overdue_ns, DURATION, "how long ago the first of them was sent"),
	FIELD(M, in_bytes, BYTES, "sent there in the window, without retransmissions"),
	FIELD(M, in_arrived_bytes, BYTES, "received here in the window, in order"),
	FIELD(M, in_segs, COUNT, "segments with data sent there in the last three windows, retransmissions included"),
	FIELD(M, in_arrived_segs, COUNT, "of them, segments that arrived here"),
	FIELD(M, in_lost_segs, COUNT, "of them, segments that did not arrive"),
	FIELD(M, in_lost_share, RATIO, "share of the segments sent there that did not arrive here", .unit = "%"),
	FIELD(M, in_steady_share, RATIO,
	      "lowest share of the last three windows that was retransmitted there and needed", .unit = "%"),
	FIELD(M, in_repeated_share, RATIO, "share of the last three windows that was retransmitted there and needed",
	      .unit = "%"),
	FIELD(M, in_missing_bytes, BYTES, "sent there at least two RTTs ago and not received here"),
	FIELD(M, in_overdue_ns, DURATION, "how long ago the first of them was sent"),
	FIELD(M, out_delay_change_ns, DURATION, "one-way delay to there, above the lowest of the last minutes"),
	FIELD(M, out_delay_error_ns, DURATION, "how far off that may be"),
	FIELD(M, in_delay_change_ns, DURATION, "one-way delay from there, above the lowest of the last minutes"),
	FIELD(M, in_delay_error_ns, DURATION, "how far off that may be"),
	FIELD(M, far_recvq_share, RATIO, "samples with data that the program there had not read", .unit = "%"),
	FIELD(M, far_recvq_fill_min, RATIO, "smallest share of the receive buffer there in use", .unit = "%"),
	FIELD(M, far_recvq_max_bytes, BYTES, "largest receive queue there"),
	FIELD(M, far_rcvbuf, BYTES, "receive buffer there"),
	FIELD(M, far_sendq_share, RATIO, "samples with unacknowledged or unsent data there", .unit = "%"),
	FIELD(M, far_unacked_share, RATIO, "samples with something in flight from there", .unit = "%"),
	FIELD(M, far_rwnd_share, RATIO,
	      "share of the time that the receive window of this host limited the sender there", .unit = "%"),
	FIELD(M, far_rto_count, COUNT, "retransmission timeouts there"),
	FIELD(M, far_stopped_share, RATIO, "samples in which the program there was stopped", .unit = "%"),
	FIELD(M, far_cpu_wait_share, RATIO, "share of the time that it waited on the run queue", .unit = "%"),
	FIELD(M, far_throttled_share, RATIO, "CPU periods in which its cgroup was throttled", .unit = "%"),
	FIELD(M, far_drop_count, COUNT, "packets of the connection that the host there dropped"),
	FIELD(M, far_owed_share, RATIO, "samples in which the program there owed an answer", .unit = "%"),
	FIELD(M, far_owed_ns, DURATION, "how long it has owed the answer"),
	FIELD(M, far_cause, TEXT, "strongest finding of the other end alone about the connection"),
	FIELD(M, far_layer, TEXT, "layer of that finding"),
	FIELD(M, far_certainty, RATIO, "its certainty"),
	FIELD(M, window_closed_by, TEXT, "host whose receive window was closed"),
	FIELD(M, waits_for, TEXT, "host whose application blocked the connection"),
};
#undef M
RECORD_TYPE(far_end_measures_type, "measure.far_end", struct far_end_measures, far_end_fields,
	    "measures of a connection that was recorded at both ends");

/* Data in flight is not missing: it is given two RTTs and this much for samples and timers. */
#define ARRIVAL_NS 300000000

static uint64_t shifted(uint64_t time_ns, int64_t by_ns)
{
	return (uint64_t)((int64_t)time_ns + by_ns);
}

/* --- the streams --- */

static void count_lost(const struct end_pair *pair, enum end_side from, const uint64_t *positions, uint64_t *ret_segs,
		       uint64_t *ret_arrived, uint64_t *ret_lost, double *ret_share)
{
	unsigned oldest = 3;
	struct end_loss loss;

	*ret_segs = *ret_arrived = *ret_lost = UINT64_MAX;
	*ret_share = NAN;
	while (oldest > 0 && positions[oldest] == UINT64_MAX)
		oldest--;
	if (oldest == 0 || !end_pair_loss(pair, from, positions[oldest], positions[0], &loss))
		return;
	*ret_segs = loss.sent_segs;
	*ret_arrived = loss.arrived_segs;
	*ret_lost = loss.sent_segs > loss.arrived_segs ? loss.sent_segs - loss.arrived_segs : 0;
	*ret_share = loss.sent_segs ? (double)*ret_lost / (double)loss.sent_segs : NAN;
}

/*
 * A queue that overflowed once, as at the end of slow start, loses nothing in the windows before and after. From the
 * counters of the sender, because a share of single windows is small: what is out of order at a sample would hide it.
 */
static double steady_share(const struct end_history *sender, const uint64_t *ends_ns, int64_t offset_ns)
{
	double lowest = NAN;

	for (unsigned i = 0; i < 3; i++) {
		double share = ends_ns[i + 1] ? end_history_repeated(sender, shifted(ends_ns[i + 1], offset_ns),
								     shifted(ends_ns[i], offset_ns))
					      : NAN;

		if (isnan(share))
			return NAN;
		lowest = isnan(lowest) ? share : min_of(lowest, share);
	}
	return lowest;
}

/* The first sample that is ahead of a position; there is one. */
static const struct end_sample *first_beyond(const struct end_history *sender, uint64_t position)
{
	size_t low = 0, high = sender->samples.count - 1;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (sender->samples.items[middle].sent <= position)
			low = middle + 1;
		else
			high = middle;
	}
	return &sender->samples.items[low];
}

/* What was sent long enough before the last sample of the receiver, and is not there. */
static void find_missing(const struct end_pair *pair, enum end_side from, uint64_t now_ns, uint64_t patience_ns,
			 int64_t to_offset_ns, uint64_t *ret_bytes, uint64_t *ret_ns)
{
	const struct end_history *sender = &pair->sides[from];
	const struct end_sample *arrived = end_history_at(&pair->sides[!from], shifted(now_ns, to_offset_ns));
	const struct end_sample *sent;

	*ret_bytes = *ret_ns = UINT64_MAX;
	if (pair->reused || !arrived)
		return;
	sent = end_history_at(sender, now_ns > patience_ns ? now_ns - patience_ns : 0);
	if (!sent || sent->sent == UINT64_MAX)
		return;
	*ret_bytes = *ret_ns = 0;
	if (sent->sent <= arrived->received)
		return;
	*ret_bytes = sent->sent - arrived->received;
	*ret_ns = now_ns - first_beyond(sender, arrived->received)->time_ns;
}

static void move_positions(uint64_t *positions, uint64_t now)
{
	memmove(&positions[1], &positions[0], 3 * sizeof(*positions));
	positions[0] = now;
}

/* Data where there was any, else the ACKs of what went the other way. */
static void measure_delay(const struct end_pair *pair, enum end_side from, uint64_t begin_ns, uint64_t end_ns,
			  struct end_delay_base *base, int64_t *ret_change_ns, uint64_t *ret_error_ns)
{
	enum end_delay_kind kind = END_DELAY_DATA;
	struct end_delay_change change;
	struct end_delay delay;

	if (!end_pair_delay(pair, from, kind, begin_ns, end_ns, &delay)) {
		kind = END_DELAY_ACK;
		if (!end_pair_delay(pair, from, kind, begin_ns, end_ns, &delay))
			return;
	}
	if (!end_delay_base_note(base, kind, &delay, end_ns, &change))
		return;
	*ret_change_ns = change.change_ns;
	*ret_error_ns = change.error_ns;
}

static void measure_streams(struct far_end_view *view, const struct end_key *key, const struct conn_measures *own,
			    uint64_t now_ns, struct far_end_measures *m)
{
	const struct end_pair *pair = end_pairs_find(view->pairs, key);
	uint64_t rtt_ns = own->srtt_ns == UINT64_MAX ? 0 : own->srtt_ns;
	uint64_t error_ns = view->error_ns == UINT64_MAX ? 0 : view->error_ns;
	uint64_t patience_ns = 2 * rtt_ns + error_ns + ARRIVAL_NS, there_ns = shifted(now_ns, view->offset_ns);
	struct far_end_track *track;
	bool is_new;

	track = pair ? map_put(&view->tracks, key, &is_new) : NULL;
	if (!track)
		return;
	if (is_new) {
		*track = (struct far_end_track){};
		memset(track->out, 0xff, sizeof(track->out)); /* all unknown */
		memset(track->in, 0xff, sizeof(track->in));
	} else {
		measure_delay(pair, END_HERE, shifted(track->ends_ns[0], view->offset_ns), there_ns, &track->out_delay,
			      &m->out_delay_change_ns, &m->out_delay_error_ns);
		measure_delay(pair, END_THERE, track->ends_ns[0], now_ns, &track->in_delay, &m->in_delay_change_ns,
			      &m->in_delay_error_ns);
	}
	move_positions(track->ends_ns, now_ns);
	move_positions(track->out, end_pair_position(pair, END_HERE, now_ns));
	move_positions(track->in, end_pair_position(pair, END_THERE, there_ns));
	count_lost(pair, END_HERE, track->out, &m->out_segs, &m->out_arrived_segs, &m->out_lost_segs,
		   &m->out_lost_share);
	if (!pair->reused) {
		m->out_steady_share = steady_share(&pair->sides[END_HERE], track->ends_ns, 0);
		m->in_steady_share = steady_share(&pair->sides[END_THERE], track->ends_ns, view->offset_ns);
		if (track->ends_ns[3])
			m->in_repeated_share = end_history_repeated(
				&pair->sides[END_THERE], shifted(track->ends_ns[3], view->offset_ns), there_ns);
	}
	count_lost(pair, END_THERE, track->in, &m->in_segs, &m->in_arrived_segs, &m->in_lost_segs, &m->in_lost_share);
	find_missing(pair, END_HERE, now_ns, patience_ns, view->offset_ns, &m->out_missing_bytes, &m->out_overdue_ns);
	find_missing(pair, END_THERE, there_ns, patience_ns, -view->offset_ns, &m->in_missing_bytes, &m->in_overdue_ns);
}

/* --- the other end --- */

static void measure_far(const struct module *there, struct far_end_measures *m)
{
	const struct conn_measures *conn = there->measures.conn;
	const struct app_measures *app = there->measures.app;
	const struct exchange_measures *exchange = there->measures.exchange;

	m->far_recvq_share = conn->recvq_share;
	m->far_recvq_fill_min = conn->recvq_fill_min;
	m->far_recvq_max_bytes = conn->recvq_max_bytes;
	m->far_rcvbuf = conn->rcvbuf;
	m->far_sendq_share = conn->sendq_share;
	m->far_unacked_share = conn->unacked_share;
	m->far_rwnd_share = conn->rwnd_share;
	m->far_rto_count = conn->rto_count;
	m->in_bytes = conn->sent_bytes == UINT64_MAX || conn->retrans_bytes == UINT64_MAX
			      ? UINT64_MAX
			      : conn->sent_bytes - min_of(conn->retrans_bytes, conn->sent_bytes);
	m->out_arrived_bytes = conn->received_bytes;
	if (app) {
		m->far_pid = app->pid;
		memcpy(m->far_comm, app->comm, sizeof(m->far_comm));
		m->far_stopped_share = app->app_stopped_share;
		m->far_cpu_wait_share = app->app_cpu_wait_share;
		m->far_throttled_share = app->cgroup_throttled_share;
	}
	if (there->measures.dropped)
		m->far_drop_count = there->measures.dropped->drop_count;
	if (exchange) {
		m->far_owed_share = exchange->owed_share;
		m->far_owed_ns = exchange->owed_ns;
	}
}

static bool closes_window(const struct conn_measures *sender, const struct conn_measures *receiver)
{
	return sender->snd_wnd_min < sender->mss && receiver->recvq_max_bytes > 0;
}

/* Its program has data that it does not read, or owes an answer to a request that arrived. */
static bool is_waited_for(const struct module *module, uint64_t missing_bytes)
{
	const struct exchange_measures *exchange = module->measures.exchange;

	return module->measures.conn->recvq_share >= 1 ||
	       (exchange && exchange->owed_share > 0.5 && missing_bytes == 0);
}

static void name_hosts(const struct far_end_view *view, const struct module *here, const struct module *there,
		       struct far_end_measures *m)
{
	const struct conn_measures *a = here->measures.conn, *b = there->measures.conn;
	const char *closed_by = closes_window(a, b) ? view->far_host : closes_window(b, a) ? view->own_host : "";
	const char *waits_for = is_waited_for(there, m->out_missing_bytes) ? view->far_host
				: is_waited_for(here, m->in_missing_bytes) ? view->own_host
									   : "";

	snprintf(m->window_closed_by, sizeof(m->window_closed_by), "%s", closed_by);
	snprintf(m->waits_for, sizeof(m->waits_for), "%s", waits_for);
}

void far_end_measures_init(struct far_end_measures *m, const char *conn)
{
	*m = (struct far_end_measures){
		.conn = conn,
		.far_clock_error_ns = UINT64_MAX,
		.out_segs = UINT64_MAX,
		.out_arrived_segs = UINT64_MAX,
		.out_lost_segs = UINT64_MAX,
		.in_segs = UINT64_MAX,
		.in_arrived_segs = UINT64_MAX,
		.in_lost_segs = UINT64_MAX,
		.out_lost_share = NAN,
		.out_steady_share = NAN,
		.in_steady_share = NAN,
		.in_repeated_share = NAN,
		.in_lost_share = NAN,
		.out_bytes = UINT64_MAX,
		.out_arrived_bytes = UINT64_MAX,
		.in_bytes = UINT64_MAX,
		.in_arrived_bytes = UINT64_MAX,
		.out_missing_bytes = UINT64_MAX,
		.out_overdue_ns = UINT64_MAX,
		.in_missing_bytes = UINT64_MAX,
		.in_overdue_ns = UINT64_MAX,
		.out_delay_change_ns = INT64_MIN,
		.in_delay_change_ns = INT64_MIN,
		.out_delay_error_ns = UINT64_MAX,
		.in_delay_error_ns = UINT64_MAX,
		.far_recvq_share = NAN,
		.far_recvq_fill_min = NAN,
		.far_sendq_share = NAN,
		.far_unacked_share = NAN,
		.far_rwnd_share = NAN,
		.far_recvq_max_bytes = UINT64_MAX,
		.far_rcvbuf = UINT64_MAX,
		.far_rto_count = UINT64_MAX,
		.far_stopped_share = NAN,
		.far_cpu_wait_share = NAN,
		.far_throttled_share = NAN,
		.far_drop_count = UINT64_MAX,
		.far_owed_share = NAN,
		.far_owed_ns = UINT64_MAX,
		.far_certainty = NAN,
	};
}

static struct far_end_measures *measures_new(struct graph *graph, const struct far_end_view *view,
					     const struct module *here)
{
	const struct conn_measures *conn = here->measures.conn;
	struct far_end_measures *m = graph_alloc(graph, sizeof(*m));

	far_end_measures_init(m, here->id);
	m->far_clock_error_ns = view->error_ns;
	m->far_drop_count = 0;
	m->in_arrived_bytes = conn->received_bytes;
	if (conn->sent_bytes != UINT64_MAX && conn->retrans_bytes != UINT64_MAX)
		m->out_bytes = conn->sent_bytes - min_of(conn->retrans_bytes, conn->sent_bytes);
	snprintf(m->far_host, sizeof(m->far_host), "%s", view->far_host);
	return m;
}

/* --- joining --- */

struct far_conn {
	const struct graph *graph;
	const struct module *module;
};

static void index_graph(struct map *index, const struct end_pairs *pairs, const struct graph *graph)
{
	vec_each(&graph->modules, module) {
		const struct conn_measures *conn = (*module)->measures.conn;
		struct far_conn *slot;
		struct end_key key;

		if ((*module)->kind != MODULE_CONN || !conn)
			continue;
		key = end_pairs_name(pairs, &conn->laddr, conn->lport, &conn->raddr, conn->rport);
		slot = map_put(index, &key, NULL);
		if (slot)
			*slot = (struct far_conn){graph, *module};
	}
}

void far_end_join(struct far_end_view *view, struct graph *here, const struct graph *const *there, size_t count,
		  uint64_t now_ns,
		  bool (*finding)(const struct graph *graph, const struct module *module, void *context,
				  struct far_end_finding *ret_finding),
		  void *context)
{
	struct map index = MAP_INIT(sizeof(struct end_key), sizeof(struct far_conn), 1000000);

	for (size_t i = 0; i < count; i++)
		index_graph(&index, view->pairs, there[i]);
	vec_each(&here->modules, module) {
		const struct conn_measures *conn = (*module)->measures.conn;
		struct far_end_finding found;
		struct far_end_measures *m;
		const struct far_conn *far;
		struct end_key key;

		if ((*module)->kind != MODULE_CONN || !conn)
			continue;
		key = end_key_make(&conn->laddr, conn->lport, &conn->raddr, conn->rport);
		far = map_get(&index, &key);
		if (!far)
			continue;
		m = measures_new(here, view, *module);
		measure_streams(view, &key, conn, now_ns, m);
		measure_far(far->module, m);
		name_hosts(view, *module, far->module, m);
		if (finding && finding(far->graph, far->module, context, &found)) {
			snprintf(m->far_cause, sizeof(m->far_cause), "%s", found.cause);
			snprintf(m->far_layer, sizeof(m->far_layer), "%s", found.layer);
			m->far_certainty = found.certainty;
		}
		(*module)->measures.far_end = m;
	}
	map_done(&index);
}
