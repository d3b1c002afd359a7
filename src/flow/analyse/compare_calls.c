/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call rates in good and in bad sessions. A function called twice instead of once is neither an extra call nor a slower
 * one.
 *
 * Each session counts once, with the calls per call of the caller: a caller that gets more work makes more calls, so
 * only a changed rate per call is the function's own change. How often a dispatcher serves a client's socket is up to
 * the client.
 */
#include "flow/analyse/compare.h"

/* Minimum sessions of each group that reach the caller. */
#define SESSIONS_LEAST 4
/* Minimum probability that a bad session has more (or fewer) calls; false alarm rate over all places. */
#define SURE   0.9
#define CHANCE 0.01
/* Minimum factor; or any, if this share of each group makes the same number of calls. */
#define MORE 1.5
#define SAME 0.9
/* Minimum factor between the sums for a closer look. */
#define CLOSER 1.05
/* Fixed-point unit of rates. */
#define UNIT 1e6

typedef SPILL(uint64_t) rates;

struct call_rates {
	struct comparison *c;
	const struct compare_subject *subject;
	uint32_t tests;
	rates of[2]; /* of the current place, by group */
};

static bool is_by_dispatcher(const struct comparison *c, uint32_t place)
{
	uint32_t caller = c->profile->places.items[place].parent;

	return !caller || c->profile->places.items[caller].is_dispatcher;
}

static void add_rate(struct call_rates *r, unsigned trace, const struct profile_cell *calls, double each)
{
	const struct profile_cells *cells = &r->subject->cells[trace];
	uint8_t group = r->subject->group_of[trace][cells->session_of[calls->slot]];

	if (group <= 1)
		spill_push(&r->of[group], (uint64_t)((double)calls->calls / each * UNIT));
}

/* Called by a dispatcher: calls per request of each session. */
static void take_dispatched(struct call_rates *r, unsigned trace, uint32_t place)
{
	const struct profile_cells *cells = &r->subject->cells[trace];
	const struct flow_sessions *s = r->subject->sessions[trace];
	size_t count;
	const struct profile_cell *cell = profile_cells_at(cells, place, &count);

	for (size_t i = 0; i < count; i++, cell++) {
		add_rate(r, trace, cell, max_of(s->list.items[cells->session_of[cell->slot]].requests, 1u));
		spill_trim_apart(i);
	}
}

/* Called by a function: zero for sessions that reach the caller and do not make the call. */
static void take_called(struct call_rates *r, unsigned trace, uint32_t place)
{
	const struct profile_cells *cells = &r->subject->cells[trace];
	size_t count, callers, k = 0;
	const struct profile_cell *cell = profile_cells_at(cells, place, &count);
	const struct profile_cell *up = profile_cells_at(cells, r->c->profile->places.items[place].parent, &callers);

	for (size_t i = 0; i < callers; i++) {
		while (k < count && cell[k].slot < up[i].slot)
			k++;
		add_rate(r, trace,
			 k < count && cell[k].slot == up[i].slot ? &cell[k]
								 : &(struct profile_cell){.slot = up[i].slot},
			 (double)max_of(up[i].calls, (uint64_t)1));
	}
}

static bool take_rates(struct call_rates *r, uint32_t place)
{
	bool by_dispatcher = is_by_dispatcher(r->c, place);

	r->of[0].count = r->of[1].count = 0;
	for (unsigned trace = 0; trace < (compare_is_of_two(r->subject) ? 2 : 1); trace++) {
		const struct profile_cells *cells = &r->subject->cells[trace];

		if (by_dispatcher && place < cells->place_count && cells->has_client[place])
			return false;
		if (by_dispatcher)
			take_dispatched(r, trace, place);
		else
			take_called(r, trace, place);
	}
	return min_of(r->of[0].count, r->of[1].count) >= SESSIONS_LEAST;
}

/* Share of values equal to the median. The values are sorted. */
static double share_of_median(const rates *v)
{
	uint64_t median = v->items[v->count / 2];
	size_t same = 0;

	for (size_t i = 0; i < v->count; i++)
		same += v->items[i] == median;
	return (double)same / (double)v->count;
}

static bool differs(struct call_rates *r, uint32_t place, struct compare_more *ret)
{
	const rates *good = &r->of[0], *bad = &r->of[1];
	double sure = compare_superiority(good->items, good->count, bad->items, bad->count), chance, larger, smaller;

	/* Both are sorted now. A call missing in one group is a structural difference. */
	*ret = (struct compare_more){
		.place = place,
		.good = (double)good->items[good->count / 2] / UNIT,
		.bad = (double)bad->items[bad->count / 2] / UNIT,
	};
	larger = max_of(ret->good, ret->bad);
	smaller = min_of(ret->good, ret->bad);
	if (max_of(sure, 1 - sure) < SURE || smaller <= 0)
		return false;
	if (larger < MORE * smaller &&
	    (larger <= smaller || share_of_median(good) < SAME || share_of_median(bad) < SAME))
		return false;
	chance = compare_rank_chance(max_of(sure, 1 - sure), good->count, bad->count) * r->tests;
	ret->confidence = 1 - chance;
	return chance <= CHANCE;
}

/* Quick test on the sums, which saves another pass over a long trace. */
static bool may_differ(const struct comparison *c, uint32_t place)
{
	const struct profile_place *at = &c->profile->places.items[place];
	const struct profile_figures *up = c->profile->places.items[at->parent].group;
	double rate[2];

	if (at->is_dispatcher || !at->group[0].calls || !at->group[1].calls)
		return false;
	for (unsigned g = 0; g < 2; g++)
		rate[g] = (double)at->group[g].calls / (is_by_dispatcher(c, place) || !up[g].calls
								? max_of((double)c->group[g].sessions, 1.0)
								: (double)up[g].calls);
	return max_of(rate[0], rate[1]) >= CLOSER * min_of(rate[0], rate[1]);
}

static int by_weight(const void *a, const void *b)
{
	const struct compare_more *one = a, *other = b;

	if (one->weight != other->weight)
		return one->weight > other->weight ? -1 : 1;
	return one->place < other->place ? -1 : one->place > other->place;
}

static double time_of(const struct comparison *c, uint32_t place, unsigned group)
{
	return (double)c->sums.ticks[group][place] / max_of((double)c->group[group].sessions, 1.0);
}

void compare_calls(struct comparison *c, struct compare_subject *subject, compare_more_list *ret_list)
{
	struct call_rates r = {.c = c, .subject = subject};
	size_t known = c->profile->places.count;

	for (uint32_t i = 1; i < known; i++)
		r.tests += may_differ(c, i);
	if (r.tests)
		compare_cells(c, subject);
	for (uint32_t i = 1; r.tests && i < known; i++) {
		struct compare_more more;

		if (!may_differ(c, i) || !take_rates(&r, i) || !differs(&r, i, &more))
			continue;
		more.weight = fabs(time_of(c, i, 1) - time_of(c, i, 0));
		vec_push(ret_list, more);
	}
	vec_sort(ret_list, by_weight);
	for (unsigned g = 0; g < 2; g++)
		spill_done(&r.of[g]);
}
