/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Self time of each function in good and in bad sessions. A session's total time is mostly that of others: the client,
 * and sessions served before it. The time between callees is the function's own.
 *
 * A busy machine slows everything down, some calls by far, and speeds up none: so each session counts once, with its
 * mean call, lower quartiles are compared, and a factor common to all functions is removed.
 */
#include "flow/analyse/compare.h"

/* Minimum sessions of each group at a place, and shortest call used for the common factor. */
#define SESSIONS_LEAST 4
#define COMMON_PLACES  4
#define COMMON_NS      100.0
/* Minimum quartile ratio beyond the common factor by default, and the ratio that is nearly certain. */
#define SLOWER      1.6
#define SLOWER_SURE 1.25
/* Minimum additional time per session: LEAST_NS, and the second or this share of a good session's work. */
#define LEAST_NS    2000.0
#define ENOUGH_NS   200000.0
#define LEAST_SHARE 0.1
/* For a closer look: minimum factor between the sums, and minimum share of a session's work, up to the time. */
#define CLOSER       1.3
#define CLOSER_SHARE 0.03
#define CLOSER_NS    20000.0
/* False alarm rate over all slower places, and minimum probability that a bad session is slower. */
#define SELF_CHANCE 0.001
#define SELF_SURE   0.75
/* What is compared of the sessions. */
#define QUARTILE 0.25

typedef SPILL(uint64_t) values;

struct self_times {
	struct comparison *c;
	const struct compare_subject *subject;
	double factor, least, common;
	uint32_t candidates; /* places that look slower */
	values of[2];        /* of the current place: mean call per session, picoseconds */
	double calls;        /* mean calls per bad session */
};

/* A place in detail. */
struct self_place {
	double good, bad; /* quartiles, nanoseconds */
	double excess;    /* nanoseconds per bad session */
	double sure;
};

static double quartile(const values *v)
{
	return (double)v->items[(size_t)((double)v->count * QUARTILE)] / 1000;
}

/* Mean call of each session at the place, of one trace. */
static void take_values(struct self_times *t, unsigned trace, uint32_t place, uint64_t *calls)
{
	const struct profile_cells *cells = &t->subject->cells[trace];
	const struct flow_sessions *s = t->subject->sessions[trace];
	double ns = (double)s->trace->ns_per_tick / (double)(UINT64_C(1) << 48);
	size_t count;
	const struct profile_cell *cell = profile_cells_at(cells, place, &count);

	for (size_t i = 0; i < count; i++, cell++) {
		uint8_t group = t->subject->group_of[trace][cells->session_of[cell->slot]];

		spill_trim_at(i);
		if (group > 1 || !cell->calls)
			continue;
		spill_push(&t->of[group], (uint64_t)((double)profile_cell_own(cell) /
						     (double)max_of(cell->calls, (uint64_t)1) * ns * 1000));
		*calls += group == 1 ? cell->calls : 0;
	}
}

static bool examine(struct self_times *t, struct self_place *ret)
{
	struct self_place p = {};

	if (min_of(t->of[0].count, t->of[1].count) < SESSIONS_LEAST)
		return false;
	p.sure = compare_superiority(t->of[0].items, t->of[0].count, t->of[1].items, t->of[1].count);
	/* Both are sorted now. */
	p.good = quartile(&t->of[0]);
	p.bad = quartile(&t->of[1]);
	p.excess = (p.bad - t->common * p.good) * t->calls;
	*ret = p;
	return true;
}

/* Calls `look` for all places that both groups reach. */
static void each_place(struct self_times *t, void *context,
		       void (*look)(struct self_times *, uint32_t, const struct self_place *, void *))
{
	for (uint32_t place = 1; place < t->c->profile->places.count; place++) {
		struct self_place p;
		uint64_t calls = 0;

		t->of[0].count = t->of[1].count = 0;
		take_values(t, 0, place, &calls);
		if (compare_is_of_two(t->subject))
			take_values(t, 1, place, &calls);
		t->calls = (double)calls / max_of((double)t->of[1].count, 1.0);
		if (!t->c->profile->places.items[place].is_dispatcher && examine(t, &p))
			look(t, place, &p, context);
	}
}

static void keep_ratio(struct self_times *t, uint32_t place, const struct self_place *p, void *context)
{
	values *ratios = context;

	(void)t;
	(void)place;
	if (p->good >= COMMON_NS && p->bad > 0)
		spill_push(ratios, (uint64_t)(p->bad / p->good * 1e6));
}

/* A common speedup is ignored: a function that did not speed up is not slower. */
static double common_factor(struct self_times *t)
{
	values ratios = {};
	double common = 1;

	each_place(t, &ratios, keep_ratio);
	if (ratios.count >= COMMON_PLACES)
		common = (double)compare_median(ratios.items, ratios.count) / 1e6;
	spill_done(&ratios);
	return max_of(common, 1.0);
}

static bool is_slower(const struct self_times *t, const struct self_place *p)
{
	return p->excess >= t->least && p->bad >= t->factor * t->common * p->good;
}

static void count_slower(struct self_times *t, uint32_t place, const struct self_place *p, void *context)
{
	(void)place;
	(void)context;
	t->candidates += is_slower(t, p);
}

static void choose(struct self_times *t, uint32_t place, const struct self_place *p, void *context)
{
	struct compare_slower *best = context;
	struct compare_interval ratio;
	double scaled;

	if (!is_slower(t, p) || p->excess <= best->excess)
		return;
	ratio = compare_ratio_interval(t->of[0].items, t->of[0].count, t->of[1].items, t->of[1].count, QUARTILE);
	if (ratio.low < SLOWER_SURE * t->common)
		return;
	for (size_t i = 0; i < t->of[0].count; i++)
		t->of[0].items[i] = (uint64_t)((double)t->of[0].items[i] * t->common);
	scaled = compare_superiority(t->of[0].items, t->of[0].count, t->of[1].items, t->of[1].count);
	if (scaled < SELF_SURE ||
	    compare_rank_chance(scaled, t->of[0].count, t->of[1].count) * t->candidates > SELF_CHANCE)
		return;
	*best = (struct compare_slower){
		.place = place,
		.excess = p->excess,
		.good_call_ns = (uint64_t)p->good,
		.bad_call_ns = (uint64_t)p->bad,
		.ratio = ratio,
		.sure = scaled,
	};
}

static double median_own_ns(const struct self_times *t)
{
	const struct flow_sessions *s = t->subject->sessions[0];
	values own = {};
	double median;

	for (size_t i = 0; i < s->list.count; i++) {
		if (t->subject->group_of[0][i] == 0)
			spill_push(&own, t->subject->cells[0].own_ticks.items[i]);
		spill_trim_at(i);
	}
	median = (double)flow_span_ns(s->trace, compare_median(own.items, own.count));
	spill_done(&own);
	return median;
}

/* Quick test on the sums, which saves another pass over a long trace. */
static bool may_be_slower(const struct comparison *c, const struct compare_options *options)
{
	double ns = (double)c->profile->trace->ns_per_tick / (double)(UINT64_C(1) << 48);
	double least = (double)c->sums.ticks[0][0] / max_of(c->group[0].sessions, 1u) * CLOSER_SHARE;

	least = options->min_ns ? (double)options->min_ns : max_of(LEAST_NS, min_of(CLOSER_NS, least));

	for (uint32_t i = 1; i < c->profile->places.count; i++) {
		const struct profile_place *place = &c->profile->places.items[i];
		const struct profile_figures *of = place->group;
		double good = (double)of[0].self_ticks / (double)max_of(of[0].calls, (uint64_t)1);
		double bad = (double)of[1].self_ticks / (double)max_of(of[1].calls, (uint64_t)1);
		double excess = (bad - good) * ns * (double)of[1].calls / max_of(c->group[1].sessions, 1u);

		if (!place->is_dispatcher && of[0].calls && of[1].calls && bad >= CLOSER * good && excess >= least)
			return true;
	}
	return false;
}

void compare_cells(struct comparison *c, struct compare_subject *subject)
{
	if (subject->has_cells)
		return;
	subject->has_cells = true;
	profile_cells_fill(
		&subject->cells[0], c->profile,
		&(struct profile_view){.sessions = subject->sessions[0],
				       .group_of = compare_is_of_two(subject) ? NULL : subject->group_of[0]});
	if (compare_is_of_two(subject))
		profile_cells_fill(&subject->cells[1], c->profile,
				   &(struct profile_view){.sessions = subject->sessions[1], .fn_of = subject->fn_of});
}

void compare_cells_done(struct compare_subject *subject)
{
	for (unsigned i = 0; i < 2; i++)
		profile_cells_done(&subject->cells[i]);
	subject->has_cells = false;
}

struct compare_slower compare_self(struct comparison *c, struct compare_subject *subject,
				   const struct compare_options *options, double *ret_common)
{
	struct self_times t = {.c = c, .subject = subject, .common = 1};
	struct compare_slower best = {};

	if (!compare_is_of_two(subject) && !may_be_slower(c, options))
		return best;
	compare_cells(c, subject);
	t.factor = options->ratio > 0 ? options->ratio : SLOWER;
	t.least = options->min_ns ? (double)options->min_ns
				  : max_of(LEAST_NS, min_of(ENOUGH_NS, LEAST_SHARE * median_own_ns(&t)));
	t.common = common_factor(&t);
	each_place(&t, NULL, count_slower);
	if (t.candidates)
		each_place(&t, &best, choose);
	*ret_common = t.common;
	for (unsigned i = 0; i < 2; i++)
		spill_done(&t.of[i]);
	return best;
}
