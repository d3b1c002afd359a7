/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A stalled connection retries with backoff, so whatever drops its packets counts one in some windows and nothing in
 * others. Each counter that may explain a stall is therefore followed rule by rule, and summed up from the moment when
 * the connection stalled. A rule that also counted before that (a default drop that always hits scanners) does not
 * explain it.
 */
#include "diagnose/measure/stall.h"
#include "diagnose/graph/window.h"
#include "diagnose/measure/conn.h"
#include "probe/arrival.h"
#include "snapshot/core/delta.h"
#include "snapshot/netlink/conntrack.h"
#include "snapshot/netlink/firewall.h"
#include "snapshot/proc/counter.h"

#define S struct stall_measures
static const struct field stall_fields[] = {
	FIELD(S, stalled_ns, DURATION, "time without progress; 0 when it progresses"),
	FIELD(S, stall_firewall_drops, COUNT,
	      "packets dropped since then by firewall rules that had dropped nothing before"),
	FIELD(S, stall_unheard, COUNT, "packets sent since then to an NFQUEUE without a listener, and not before"),
	FIELD(S, stall_invalid, COUNT, "packets marked invalid by conntrack since then, and not before"),
	FIELD(S, stall_rp_filter, COUNT, "packets dropped by rp_filter since then, and not before"),
	FIELD(S, stall_undelivered, COUNT,
	      "segments that have arrived at an interface since it fell silent, and did not reach it"),
	FIELD(S, fresh_firewall_drops, COUNT,
	      "packets dropped in this window by firewall rules that dropped nothing in the first windows"),
};
#undef S
RECORD_TYPE(stall_measures_type, "measure.stall", struct stall_measures, stall_fields,
	    "packets that this host dropped while a connection was stalled");

/* Longer stalls are followed from here on only. */
#define WINDOWS 32
/* Windows before a stall in which a counter must not have moved. */
#define REST 3
/* Windows at the begin of the look in which it must have been, to be new. */
#define FIRST 2

/* What a counter says is refused; nothing as long as a queue is listened to. */
enum refusal { REFUSAL_NONE, REFUSAL_FIREWALL, REFUSAL_UNHEARD, REFUSAL_INVALID, REFUSAL_RP_FILTER, REFUSALS };

struct series {
	struct track track;
	bool has_last;
	enum refusal kind;
	uint64_t last;
	uint64_t moved[WINDOWS]; /* newest first */
};

struct state {
	unsigned windows;           /* that have ended */
	bool begun;                 /* a sample has been seen: a rule that is new now began at zero */
	uint64_t ended_ns[WINDOWS]; /* last samples of the windows, newest first */
	struct map series;
	struct map arrivals; /* struct flow -> segments that were not delivered */
};

/* A connection, by the packets that arrive for it. */
struct flow {
	struct addr raddr;
	uint16_t lport, rport;
};

static const struct state initial = {
	.series = MAP_INIT(0, sizeof(struct series), 20000),
	.arrivals = MAP_INIT(sizeof(struct flow), sizeof(uint64_t), 20000),
};

static struct flow flow_of(const struct addr *raddr, uint16_t lport, uint16_t rport)
{
	struct flow flow;

	memset(&flow, 0, sizeof(flow));
	flow.raddr = *raddr;
	flow.lport = lport;
	flow.rport = rport;
	return flow;
}

static void note_counter(struct window *window, struct state *state, const char *key, enum refusal kind, uint64_t value)
{
	struct series *series;
	uint64_t moved;

	if (value == UINT64_MAX)
		return;
	series = map_put(&state->series, key, NULL);
	if (!series) {
		window->lost++;
		return;
	}
	(void)track_see(window, &series->track);
	series->kind = kind;
	if (!series->has_last)
		series->last = state->begun ? 0 : value;
	series->has_last = true;
	moved = delta_between(series->last, value);
	series->moved[0] += moved == UINT64_MAX || kind == REFUSAL_NONE ? 0 : moved;
	series->last = value;
}

static enum refusal refusal_of(const struct firewall_rule_record *rule)
{
	return rule->verdict == VERDICT_DROP ? REFUSAL_FIREWALL : rule->unheard ? REFUSAL_UNHEARD : REFUSAL_NONE;
}

static void sample(struct window *window, void *data, const struct snapshot *snapshot)
{
	struct state *state = data;

	snapshot_each(snapshot, firewall_rule_type, struct firewall_rule_record, rule) {
		char key[256];

		if (rule->verdict != VERDICT_DROP && rule->verdict != VERDICT_QUEUE)
			continue;
		snprintf(key, sizeof(key), "rule %u %s %s %llu", rule->nf_family, rule->nf_table ?: "",
			 rule->chain ?: "", (unsigned long long)rule->handle);
		note_counter(window, state, key, refusal_of(rule), rule->packets);
	}
	snapshot_each(snapshot, conntrack_type, struct conntrack_record, conntrack)
		note_counter(window, state, "invalid", REFUSAL_INVALID, conntrack->invalid);
	snapshot_each(snapshot, counter_type, struct counter_record, counter)
		if (strcmp(counter->counter, "TcpExtIPReversePathFilter") == 0)
			note_counter(window, state, "rp-filter", REFUSAL_RP_FILTER, counter->value);
	snapshot_each(snapshot, arrival_type, struct arrival_record, arrival) {
		struct flow flow = flow_of(&arrival->raddr, arrival->lport, arrival->rport);
		uint64_t *undelivered = map_put(&state->arrivals, &flow, NULL);

		if (undelivered)
			*undelivered = arrival->undelivered;
	}
	state->begun = true;
	state->ended_ns[0] = snapshot->begin_boot_ns;
}

static uint64_t stalled_for(const struct conn_measures *m, uint64_t undelivered)
{
	bool received_before = m->best_receive_rate > 0 || undelivered > 0;

	if (m->syn_wait_ns != UINT64_MAX)
		return m->syn_wait_ns;
	if (m->stuck && m->silent_ns != UINT64_MAX)
		return m->silent_ns;
	if (m->received_bytes == 0 && m->sent_bytes == 0 && received_before && m->receive_gap_ns != UINT64_MAX)
		return m->receive_gap_ns;
	return 0;
}

static uint64_t sum(const struct series *series, unsigned from, unsigned to)
{
	uint64_t all = 0;

	for (unsigned i = from; i < min_of(to, (unsigned)WINDOWS); i++)
		all += series->moved[i];
	return all;
}

/* How many windows it has been stalled for, including the one in which it stopped: most is lost there. */
static unsigned windows_since(const struct state *state, uint64_t stalled_ns)
{
	unsigned windows = 1;

	while (windows < WINDOWS && state->ended_ns[windows] + stalled_ns > state->ended_ns[0])
		windows++;
	return windows;
}

static void measure(const struct state *state, struct stall_measures *m)
{
	unsigned windows = windows_since(state, m->stalled_ns);
	uint64_t *sums[REFUSALS] = {
		[REFUSAL_FIREWALL] = &m->stall_firewall_drops,
		[REFUSAL_UNHEARD] = &m->stall_unheard,
		[REFUSAL_INVALID] = &m->stall_invalid,
		[REFUSAL_RP_FILTER] = &m->stall_rp_filter,
	};
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&state->series, &at, &key, &value)) {
		const struct series *series = value;

		if (series->kind != REFUSAL_NONE && sum(series, windows, windows + REST) == 0)
			*sums[series->kind] += sum(series, 0, windows);
	}
}

/* For connections with progress: a rule that began to drop during the run. */
static uint64_t fresh_drops(const struct state *state)
{
	uint64_t drops = 0;
	const void *key;
	void *value;
	size_t at = 0;

	if (state->windows < FIRST || state->windows >= WINDOWS)
		return 0;
	while (map_next(&state->series, &at, &key, &value)) {
		const struct series *series = value;

		if (series->kind == REFUSAL_FIREWALL &&
		    sum(series, state->windows - FIRST + 1, state->windows + 1) == 0)
			drops += series->moved[0];
	}
	return drops;
}

static uint64_t undelivered(const struct state *state, const struct conn_measures *own)
{
	struct flow flow = flow_of(&own->raddr, own->lport, own->rport);
	const uint64_t *known = map_get(&state->arrivals, &flow);

	return known ? *known : 0;
}

static void finish(struct window *window, void *data, struct graph *graph)
{
	struct state *state = data;
	uint64_t fresh = fresh_drops(state);
	const void *key;
	void *value;
	size_t at = 0;

	vec_each(&graph->modules, module) {
		const struct conn_measures *own = (*module)->measures.conn;
		struct stall_measures *m;

		if (!own)
			continue;
		m = graph_alloc(graph, sizeof(*m));
		m->stall_undelivered = undelivered(state, own);
		m->stalled_ns = stalled_for(own, m->stall_undelivered);
		measure(state, m);
		m->fresh_firewall_drops = fresh;
		(*module)->measures.stall = m;
	}
	state->windows++;
	/* What is still true comes again with the next sample. */
	map_done(&state->arrivals);
	memmove(&state->ended_ns[1], &state->ended_ns[0], sizeof(state->ended_ns) - sizeof(state->ended_ns[0]));
	track_forget(window, &state->series, NULL);
	while (map_next(&state->series, &at, &key, &value)) {
		struct series *series = value;

		memmove(&series->moved[1], &series->moved[0], sizeof(series->moved) - sizeof(series->moved[0]));
		series->moved[0] = 0;
	}
}

static void release(void *data)
{
	map_done(&((struct state *)data)->series);
	map_done(&((struct state *)data)->arrivals);
}

static const struct measurer stall_measurer = {
	.name = "stall",
	.stage = MEASURE_PATH,
	.needs = MEASURER_NEEDS(&firewall_rule_type, &conntrack_type, &counter_type, &arrival_type),
	.state_size = sizeof(struct state),
	.initial = &initial,
	.sample = sample,
	.finish = finish,
	.release = release,
};
MEASURER(stall_measurer);
