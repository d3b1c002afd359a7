/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why something was retransmitted says where it was lost. A fast retransmission follows duplicate ACKs: data was lost
 * or overtaken. A timeout or a tail loss probe (TLP) follows silence: the end of a burst was lost, or its ACK. What the
 * peer reports as a duplicate (DSACK) had arrived: without reordering, then, the ACK was lost.
 *
 * The kernel's figures of a connection begin with its life. What they were when the run began is a past that nobody had
 * to watch: losses that were always there, and the rate while there was something to send.
 */
#include "diagnose/measure/retransmission.h"

#include <math.h>

#include "base/clock.h"
#include "diagnose/graph/window.h"
#include "diagnose/measure/conn.h"
#include "diagnose/measure/gap_track.h"
#include "probe/retransmit_tally.h"
#include "snapshot/core/delta.h"
#include "snapshot/proc/counter.h"
#include "snapshot/socket/socket.h"

#define M struct retransmission_measures
static const struct field retransmission_fields[] = {
	FIELD(M, recent_retrans, COUNT, "segments retransmitted in the last three windows (total_retrans)"),
	FIELD(M, recent_rtos, COUNT, "retransmission timeouts in the same time (total_rto; traced before Linux 6.7)"),
	FIELD(M, recent_spurious, COUNT, "spurious retransmissions reported by the peer in the same time (dsack_dups)"),
	FIELD(M, recent_reorders, COUNT, "times that reordering was seen in the same time (reord_seen)"),
	FIELD(M, recent_spurious_share, RATIO, "spurious share of the retransmissions in the same time", .unit = "%"),
	FIELD(M, recent_wasted_share, RATIO, "spurious retransmissions, of the data segments sent in the same time",
	      .unit = "%"),
	FIELD(M, recent_acked_bytes, BYTES, "acknowledged by the peer in the same time"),
	FIELD(M, recent_ooo, COUNT, "segments that arrived here out of order in the same time (rcv_ooopack)"),
	FIELD(M, recent_ooo_share, RATIO, "their share of the data segments received in the same time", .unit = "%"),
	FIELD(M, recent_duplicate_share, RATIO, "segments received twice, of those that arrived out of order",
	      .unit = "%"),
	FIELD(M, path_losing, COUNT,
	      "other connections to this host that made progress and retransmitted twice or more in the same time"),
	FIELD(M, path_losing_served, COUNT,
	      "these and this one, where they had received data before that: a full accept queue does not stop them"),
	FIELD(M, path_acks_lost, COUNT,
	      "connections to this host with 3 or more spurious retransmissions before the run, 40 % or more of all "
	      "and "
	      "0.5 % or more of the data segments"),
	FIELD(M, recent_fast, COUNT,
	      "fast retransmissions in the same time; of all connections where they cannot be traced (TCPFastRetrans)"),
	FIELD(M, recent_probes, COUNT, "tail loss probes in the same time; likewise (TCPLossProbes)"),
	FIELD(M, recent_probe_repairs, COUNT, "losses that these repaired (TCPLossProbeRecovery)"),
	FIELD(M, recent_duplicates, COUNT,
	      "segments received twice by all connections in the same time (TCPDSACKOldSent)"),
	FIELD(M, life_loss_share, RATIO,
	      "retransmitted less spurious retransmissions, of the data sent before the run; unknown below 300 "
	      "segments",
	      .unit = "%"),
	FIELD(M, life_recoveries, COUNT,
	      "recoveries from retransmission timeouts that ended before the run (Linux 6.7 and later)"),
	FIELD(M, life_recovery_share, RATIO, "share of the time with data to send that they took (total_rto_time)",
	      .unit = "%"),
	FIELD(M, life_spurious, COUNT, "spurious retransmissions before the run (dsack_dups)"),
	FIELD(M, life_spurious_share, RATIO, "spurious share of the retransmissions before the run", .unit = "%"),
	FIELD(M, life_wasted_share, RATIO, "spurious retransmissions, of the data segments sent before the run",
	      .unit = "%"),
	FIELD(M, life_ooo_share, RATIO,
	      "share of the data segments received out of order before the run; unknown below 300 segments",
	      .unit = "%"),
	FIELD(M, life_ack_ns, DURATION,
	      "time with data in flight per segment acknowledged before the run; unknown below 20 segments"),
	FIELD(M, ack_ns, DURATION, "the same in the last three windows; unknown below 5 segments"),
	FIELD(M, ack_growth, RATIO, "that, as a multiple of its value before the run"),
	FIELD(M, life_rwnd_share, RATIO,
	      "share of the time with data to send in which the peer's window stopped it before the run", .unit = "%"),
	FIELD(M, life_sndbuf_share, RATIO, "the same of the send buffer", .unit = "%"),
	FIELD(M, life_rate, BYTES,
	      "acknowledged per second with data to send before the run; unknown below 2 s or 1 MB (busy_time)",
	      .unit = "B/s"),
	FIELD(M, busy_rate, BYTES, "acknowledged per second with data to send in the last three windows",
	      .unit = "B/s"),
	FIELD(M, life_slowdown, RATIO, "that, as a share of the rate before the run", .unit = "%"),
};
#undef M
RECORD_TYPE(retransmission_measures_type, "measure.retransmission", struct retransmission_measures,
	    retransmission_fields, "retransmissions of a connection by kind, and its totals before the run");

#define WINDOWS       3
#define LIFE_SEGMENTS 300
#define LIFE_BYTES    1000000
#define LIFE_BUSY_NS  (2 * NSEC_PER_SEC)
/* Segments whose ACKs have a mean: before the run, and in it. */
#define LIFE_ACKED 20
#define ACKED      5
/* A busy host alone delays an ACK now and then: on a long life, fewer than this are no loss. */
#define WASTED_LEAST 0.005
/* One retransmission may be chance. */
#define LOSING 2

enum { FAST, SLOW_START, PROBES, PROBE_REPAIRS, DUPLICATES, COUNTERS };
static const char *const counter_names[COUNTERS] = {
	[FAST] = "TcpExtTCPFastRetrans",        [SLOW_START] = "TcpExtTCPSlowStartRetrans",
	[PROBES] = "TcpExtTCPLossProbes",       [PROBE_REPAIRS] = "TcpExtTCPLossProbeRecovery",
	[DUPLICATES] = "TcpExtTCPDSACKOldSent",
};

/* What is kept of tcp_info, for very many connections. */
struct figures {
	uint64_t bytes_acked, busy_ns;
	uint32_t delivered, data_segs_out, data_segs_in, rcv_ooopack;
	uint32_t total_retrans, dsack_dups, reord_seen;
	uint32_t fast, timeouts, probes; /* traced, since the run began */
	uint16_t total_rto;
};

struct life_track {
	struct track track;
	unsigned windows; /* that it has been seen in */
	double loss_share, recovery_share, spurious_share, wasted_share, ooo_share, rwnd_share, sndbuf_share;
	uint64_t rate, spurious, recoveries, ack_ns;
	struct figures last, begin[WINDOWS]; /* at the begin of the last windows, newest first */
};

struct state {
	struct map tracks; /* cookie -> struct life_track */
	unsigned windows;
	bool traced; /* retransmissions can be traced: some were */
	uint64_t last[COUNTERS], begin[WINDOWS][COUNTERS];
};

static const struct state initial = {.tracks = MAP_INIT(sizeof(uint64_t), sizeof(struct life_track), 1000000)};

static void sample_counters(const struct window *window, struct state *state, const struct snapshot *snapshot)
{
	uint64_t now[COUNTERS];

	for (unsigned i = 0; i < COUNTERS; i++)
		now[i] = counter_find(snapshot, window->netns, counter_names[i]);
	if (state->windows == 0 && window->samples == 1)
		memcpy(state->begin[0], now, sizeof(now));
	memcpy(state->last, now, sizeof(now));
}

static struct figures figures_of(const struct tcp_record *t)
{
	return (struct figures){.bytes_acked = t->bytes_acked,
				.busy_ns = t->busy_ns,
				.delivered = t->delivered,
				.data_segs_out = t->data_segs_out,
				.data_segs_in = t->data_segs_in,
				.rcv_ooopack = t->rcv_ooopack,
				.total_retrans = t->total_retrans,
				.dsack_dups = t->dsack_dups,
				.reord_seen = t->reord_seen,
				.total_rto = t->total_rto};
}

/* The rows of a snapshot are totals since the first sample. */
static void sample_kinds(struct state *state, const struct snapshot *snapshot)
{
	snapshot_each(snapshot, retransmission_type, const struct retransmission_record, row) {
		struct life_track *life = map_get(&state->tracks, &row->cookie);
		uint32_t count = (uint32_t)min_of(row->count, (uint64_t)UINT32_MAX - 1);

		state->traced = true;
		if (!life)
			continue;
		if (row->kind == RETRANSMISSION_FAST)
			life->last.fast = count;
		else if (row->kind == RETRANSMISSION_TIMEOUT)
			life->last.timeouts = count;
		else if (row->kind == RETRANSMISSION_PROBE)
			life->last.probes = count;
	}
}

static double share(double part, double whole)
{
	return whole > 0 && !isnan(part) ? fmax(0, part / whole) : NAN;
}

static double known(uint64_t value)
{
	return value == UINT64_MAX ? NAN : (double)value;
}

static double known32(uint32_t value)
{
	return value == UINT32_MAX ? NAN : (double)value;
}

static uint64_t rate_of(double bytes, double busy_ns)
{
	return isnan(bytes) || isnan(busy_ns) || busy_ns <= 0 ? UINT64_MAX : (uint64_t)(bytes * 1e9 / busy_ns);
}

#define CA_LOSS 4 /* TCP_CA_Loss: in such a recovery */

static uint64_t recoveries_of(const struct tcp_record *t)
{
	if (t->total_rto_recoveries == UINT16_MAX)
		return UINT64_MAX;
	return t->total_rto_recoveries - (t->ca_state == CA_LOSS && t->total_rto_recoveries > 0);
}

/* Requests and replies have one segment in flight at a time: then this is the time to its ACK. */
static uint64_t ack_time(uint64_t busy_ns, uint64_t segments, uint64_t least)
{
	return busy_ns == UINT64_MAX || segments == UINT64_MAX || segments < least ? UINT64_MAX : busy_ns / segments;
}

static void remember_life(struct life_track *life, const struct tcp_record *t)
{
	double lost = known32(t->total_retrans) - known32(t->dsack_dups), busy_ns = known(t->busy_ns);
	bool sent_enough = t->data_segs_out != UINT32_MAX && t->data_segs_out >= LIFE_SEGMENTS;
	bool received_enough = t->data_segs_in != UINT32_MAX && t->data_segs_in >= LIFE_SEGMENTS;
	bool busy_enough = busy_ns >= LIFE_BUSY_NS && known(t->bytes_acked) >= LIFE_BYTES;

	life->loss_share = sent_enough ? share(lost, known32(t->data_segs_out)) : NAN;
	life->spurious = t->dsack_dups == UINT32_MAX ? UINT64_MAX : t->dsack_dups;
	life->spurious_share = share(known32(t->dsack_dups), known32(t->total_retrans));
	life->wasted_share = share(known32(t->dsack_dups), known32(t->data_segs_out));
	life->ooo_share = received_enough ? share(known32(t->rcv_ooopack), known32(t->data_segs_in)) : NAN;
	life->recoveries = recoveries_of(t);
	life->recovery_share = share(known(t->total_rto_ns), busy_ns);
	life->ack_ns = ack_time(t->busy_ns, t->delivered == UINT32_MAX ? UINT64_MAX : t->delivered, LIFE_ACKED);
	life->rwnd_share = share(known(t->rwnd_limited_ns), busy_ns);
	life->sndbuf_share = share(known(t->sndbuf_limited_ns), busy_ns);
	life->rate = busy_enough ? rate_of(known(t->bytes_acked), busy_ns) : UINT64_MAX;
	life->begin[0] = figures_of(t);
}

static void sample(struct window *window, void *data, const struct snapshot *snapshot)
{
	struct state *state = data;

	sample_counters(window, state, snapshot);
	snapshot_each(snapshot, socket_type, const struct socket_record, s) {
		const struct tcp_record *t = s->proto == 6 ? socket_tcp(snapshot, s) : NULL;
		struct life_track *life;
		bool is_new;

		if (!t || s->cookie == UINT64_MAX || gap_is_at_rest(t))
			continue;
		life = map_put(&state->tracks, &s->cookie, &is_new);
		if (!life) {
			window->lost++;
			continue;
		}
		(void)track_see(window, &life->track);
		if (is_new)
			remember_life(life, t);
		life->last = figures_of(t);
	}
	sample_kinds(state, snapshot);
}

static void measure_kinds(const struct state *state, const struct figures *a, const struct figures *b,
			  struct retransmission_measures *m)
{
	if (!state->traced)
		return;
	m->recent_fast = delta_between32(a->fast, b->fast);
	m->recent_probes = delta_between32(a->probes, b->probes);
	if (m->recent_rtos == UINT64_MAX)
		m->recent_rtos = delta_between32(a->timeouts, b->timeouts);
}

static void measure(const struct state *state, const struct life_track *life, struct retransmission_measures *m)
{
	const struct figures *a = &life->begin[min_of((unsigned)WINDOWS - 1, life->windows)], *b = &life->last;

	m->recent_retrans = delta_between32(a->total_retrans, b->total_retrans);
	m->recent_rtos = a->total_rto == UINT16_MAX || b->total_rto == UINT16_MAX
				 ? UINT64_MAX
				 : (uint16_t)(b->total_rto - a->total_rto);
	m->recent_spurious = delta_between32(a->dsack_dups, b->dsack_dups);
	m->recent_reorders = delta_between32(a->reord_seen, b->reord_seen);
	m->recent_spurious_share = share(known(m->recent_spurious), known(m->recent_retrans));
	measure_kinds(state, a, b, m);
	m->recent_wasted_share =
		share(known(m->recent_spurious), known(delta_between32(a->data_segs_out, b->data_segs_out)));
	m->recent_acked_bytes = delta_between(a->bytes_acked, b->bytes_acked);
	m->recent_ooo = delta_between32(a->rcv_ooopack, b->rcv_ooopack);
	m->recent_ooo_share = share(known(m->recent_ooo), known(delta_between32(a->data_segs_in, b->data_segs_in)));
	m->recent_duplicate_share = share(known(m->recent_duplicates), known(m->recent_ooo));
	m->ack_ns = ack_time(delta_between(a->busy_ns, b->busy_ns), delta_between32(a->delivered, b->delivered), ACKED);
	m->life_ack_ns = life->ack_ns;
	m->ack_growth = share(known(m->ack_ns), known(m->life_ack_ns));
	m->life_recoveries = life->recoveries;
	m->life_recovery_share = life->recovery_share;
	m->life_loss_share = life->loss_share;
	m->life_spurious = life->spurious;
	m->life_spurious_share = life->spurious_share;
	m->life_wasted_share = life->wasted_share;
	m->life_ooo_share = life->ooo_share;
	m->life_rwnd_share = life->rwnd_share;
	m->life_sndbuf_share = life->sndbuf_share;
	m->life_rate = life->rate;
	m->busy_rate = rate_of(known(delta_between(a->bytes_acked, b->bytes_acked)),
			       known(delta_between(a->busy_ns, b->busy_ns)));
	m->life_slowdown = m->life_rate != UINT64_MAX ? share(known(m->busy_rate), known(m->life_rate)) : NAN;
}

static uint64_t counted(const struct state *state, unsigned windows, unsigned which)
{
	return delta_between(state->begin[windows][which], state->last[which]);
}

static bool is_losing(const struct life_track *life, const struct retransmission_measures *m)
{
	const struct figures *a = &life->begin[min_of((unsigned)WINDOWS - 1, life->windows)];

	return m->recent_retrans != UINT64_MAX && m->recent_retrans >= LOSING && life->last.bytes_acked != UINT64_MAX &&
	       life->last.bytes_acked > a->bytes_acked;
}

/* What had arrived already was not lost: on a busy host tail loss probes are often early. */
static bool is_losing_served(const struct life_track *life, const struct retransmission_measures *m)
{
	const struct figures *a = &life->begin[min_of((unsigned)WINDOWS - 1, life->windows)];
	uint64_t spurious = m->recent_spurious == UINT64_MAX ? 0 : m->recent_spurious;

	return is_losing(life, m) && m->recent_retrans >= spurious + LOSING && a->data_segs_in != UINT32_MAX &&
	       a->data_segs_in > 0;
}

static bool lost_acks(const struct retransmission_measures *m)
{
	return m->life_spurious != UINT64_MAX && m->life_spurious >= 3 && m->life_spurious_share >= 0.4 &&
	       m->life_wasted_share >= WASTED_LEAST;
}

/* One connection of this window. */
struct measured {
	const struct module *path;
	struct retransmission_measures *measures;
	bool losing, losing_served, acks_lost;
};

struct path_tally {
	uint64_t losing, losing_served, acks_lost;
};

/* Connections to one host lose together what the path to it loses. */
static void count_losing(const struct measured *all, size_t count)
{
	struct map paths = MAP_INIT(sizeof(struct module *), sizeof(struct path_tally), 1000000);

	for (unsigned pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < count; i++) {
			struct path_tally *tally = map_put(&paths, &all[i].path, NULL);

			if (!tally)
				continue;
			if (pass == 0) {
				tally->losing += all[i].losing;
				tally->losing_served += all[i].losing_served;
				tally->acks_lost += all[i].acks_lost;
			} else {
				all[i].measures->path_losing = tally->losing - all[i].losing;
				all[i].measures->path_losing_served = tally->losing_served;
				all[i].measures->path_acks_lost = tally->acks_lost;
			}
		}
	map_done(&paths);
}

static void finish(struct window *window, void *data, struct graph *graph)
{
	struct state *state = data;
	unsigned windows = min_of(state->windows, (unsigned)WINDOWS - 1);
	uint64_t fast = counted(state, windows, FAST), slow_start = counted(state, windows, SLOW_START);
	VEC(struct measured) measured = {};

	vec_each(&graph->modules, at) {
		const struct conn_measures *own = (*at)->measures.conn;
		const struct life_track *life = own ? map_get(&state->tracks, &own->cookie) : NULL;
		struct retransmission_measures *m;

		if (!life || (*at)->kind != MODULE_CONN)
			continue;
		m = graph_alloc(graph, sizeof(*m));
		m->recent_fast = fast == UINT64_MAX || slow_start == UINT64_MAX ? UINT64_MAX : fast + slow_start;
		m->recent_probes = counted(state, windows, PROBES);
		m->recent_probe_repairs = counted(state, windows, PROBE_REPAIRS);
		m->recent_duplicates = counted(state, windows, DUPLICATES);
		measure(state, life, m);
		(*at)->measures.retransmission = m;
		vec_push(&measured, ((struct measured){(*at)->related[MODULE_PATH], m, is_losing(life, m),
						       is_losing_served(life, m), lost_acks(m)}));
	}
	count_losing(measured.items, measured.count);
	vec_done(&measured);
	track_each(window, &state->tracks, struct life_track, life)
	{
		memmove(&life->begin[1], &life->begin[0], sizeof(life->begin) - sizeof(life->begin[0]));
		life->begin[0] = life->last;
		life->windows++;
	}
	memmove(state->begin[1], state->begin[0], sizeof(state->begin) - sizeof(state->begin[0]));
	memcpy(state->begin[0], state->last, sizeof(state->last));
	state->windows++;
	track_forget(window, &state->tracks, NULL);
}

static void release(void *data)
{
	map_done(&((struct state *)data)->tracks);
}

static const struct measurer retransmission_measurer = {
	.name = "retransmission",
	.stage = MEASURE_HOST, /* after the connections */
	.needs = MEASURER_NEEDS(&socket_type, &tcp_type, &counter_type, &retransmission_type),
	.state_size = sizeof(struct state),
	.initial = &initial,
	.sample = sample,
	.finish = finish,
	.release = release,
};
MEASURER(retransmission_measurer);
