/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls that one group makes and the other does not. What varies among the good sessions is noise. The list is ordered
 * by the time a difference explains, then by when it happens in a session: what comes later may only follow from it.
 */
#include "flow/analyse/compare.h"

/* A place separates the groups when at least this share of one and at most the rest of the other passes it. */
#define SEPARATE 0.9
/* False alarm rate over all tested places. */
#define CHANCE 0.02
/* With at most this many sessions in a group nothing is significant: every difference is shown, noise last. */
#define FEW_SESSIONS 3
/* Confidence of a difference that is noise elsewhere. */
#define NOISE_SURE 0.1
/* Calls of a function that bad sessions do not make if they leave it early, at least. */
#define LEFT_LEAST 2
/* A difference explains time from this share of the whole on, and from this time on. */
#define EXPLAINS    0.2
#define EXPLAINS_NS 1e5

/* Two calls are about as early if the number of calls before them differs by no more than this. */
#define ABOUT       1.2
#define ABOUT_CALLS 8

struct structure {
	struct comparison *c;
	struct map good_noise;   /* caller and function of calls that vary among the good sessions */
	const struct map *noise; /* the same among all sessions; NULL: unknown */
	uint32_t tests;
};

static uint64_t edge_of(const struct comparison *c, uint32_t place)
{
	const struct profile_place *at = &c->profile->places.items[place];

	return (uint64_t)c->profile->places.items[at->parent].fn << 32 | at->fn;
}

/* Some of the good sessions that reach the caller make the call, and some do not. */
static void learn_noise(struct structure *s)
{
	s->good_noise = MAP_INIT(sizeof(uint64_t), 1, 0);
	for (uint32_t i = 1; i < s->c->profile->places.count; i++) {
		struct compare_presence p = compare_presence_of(s->c, i);
		uint64_t edge = edge_of(s->c, i);

		s->tests += p.all_good && p.all_bad;
		if (p.good && p.good < p.all_good)
			(void)map_put(&s->good_noise, &edge, NULL);
	}
}

/* 1 minus the probability of chance; 0 when it does not separate the groups. */
static double separates(const struct structure *s, uint32_t place, enum divergence_kind *ret_kind)
{
	struct compare_presence p = compare_presence_of(s->c, place);
	bool extra = p.bad_share >= SEPARATE && p.good_share <= 1 - SEPARATE;
	bool missing = p.good_share >= SEPARATE && p.bad_share <= 1 - SEPARATE;
	uint64_t edge = edge_of(s->c, place);
	double chance;

	if (!extra && !missing)
		return 0;
	*ret_kind = extra ? DIVERGENCE_EXTRA : DIVERGENCE_MISSING;
	chance = extra ? compare_chance(p.bad, p.all_bad, p.good, p.all_good)
		       : compare_chance(p.good, p.all_good, p.bad, p.all_bad);
	chance = min_of(chance * s->tests, 1.0);
	if (chance <= CHANCE)
		return 1 - chance;
	if (min_of(s->c->profile->looked_at[0], s->c->profile->looked_at[1]) > FEW_SESSIONS || !p.all_good ||
	    !p.all_bad || map_get(&s->good_noise, &edge))
		return 0;
	return s->noise && map_get(s->noise, &edge) ? NOISE_SURE : max_of(1 - chance, 0.5);
}

/* Callee of the other group in the same caller. */
static const char *instead_of(const struct structure *s, uint32_t place, enum divergence_kind kind)
{
	uint32_t parent = s->c->profile->places.items[place].parent;

	for (uint32_t at = s->c->profile->places.items[parent].first_child; at;
	     at = s->c->profile->places.items[at].next) {
		enum divergence_kind other;

		if (at != place && separates(s, at, &other) > 0 && other != kind)
			return compare_function(s->c, at)->name;
	}
	return NULL;
}

/* More sessions are on the wrong side of it than bad ones on the right side: the call is one of a kind of request. */
static bool is_of_kind(const struct comparison *c, uint32_t place, enum divergence_kind kind)
{
	struct compare_presence p = compare_presence_of(c, place);
	uint32_t strays = kind == DIVERGENCE_EXTRA ? p.good + (p.all_bad - p.bad) : p.bad + (p.all_good - p.good);

	return strays > c->profile->looked_at[1];
}

/* A call of a kind of request, and one inside that only bad sessions make. */
static bool is_told_inside(const struct structure *s, uint32_t place, enum divergence_kind kind)
{
	const struct profile_place *places = s->c->profile->places.items;
	uint32_t at = places[place].first_child;

	if (kind != DIVERGENCE_EXTRA || !is_of_kind(s->c, place, kind))
		return false;
	while (at && at != place) {
		enum divergence_kind inside;

		if (separates(s, at, &inside) > 0 && inside == kind && !is_of_kind(s->c, at, inside))
			return true;
		if (places[at].first_child) {
			at = places[at].first_child;
			continue;
		}
		while (at != place && !places[at].next)
			at = places[at].parent;
		at = at == place ? place : places[at].next;
	}
	return false;
}

/*
 * Bad sessions leave the function early: they do not make several of its calls, and no other one instead. Then it is
 * the function that differs, not the first of those calls.
 */
static bool is_left_early(const struct structure *s, uint32_t place)
{
	const struct profile_place *places = s->c->profile->places.items;
	uint32_t missing = 0;

	if (!place || places[place].is_dispatcher)
		return false;
	for (uint32_t at = places[place].first_child; at; at = places[at].next) {
		enum divergence_kind kind;

		if (separates(s, at, &kind) <= 0)
			continue;
		if (kind == DIVERGENCE_EXTRA)
			return false;
		missing++;
	}
	return missing >= LEFT_LEAST;
}

/* A call that distinguishes the groups. */
static void add_call(struct structure *s, uint32_t place, enum divergence_kind kind, double confidence)
{
	uint32_t caller = s->c->profile->places.items[place].parent;
	bool is_left = kind == DIVERGENCE_MISSING && is_left_early(s, caller);
	struct divergence *d;

	/* Told by the first of its calls. */
	if (is_left && s->c->all.count && s->c->all.items[s->c->all.count - 1].place == caller)
		return;
	d = compare_add(s->c, is_left ? DIVERGENCE_LEFT : kind, is_left ? caller : place, confidence);
	if (is_left) {
		struct compare_presence p = compare_presence_of(s->c, place);

		/* Figures are of that call. */
		d->call = place;
		d->before = compare_function(s->c, place)->name;
		d->good = d->good_sessions = p.good;
		d->bad = d->bad_sessions = p.bad;
		d->good_ns = (uint64_t)compare_mean_ns(s->c, place, 0);
		d->bad_ns = (uint64_t)compare_mean_ns(s->c, place, 1);
		d->ratio = d->good_ns ? (double)d->bad_ns / (double)d->good_ns : NAN;
	}
	if (kind == DIVERGENCE_EXTRA)
		d->instead = instead_of(s, place, kind);
}

/*
 * From the bottom up to the first place on each call path that distinguishes the groups; what is above follows from it.
 */
static void find_all(struct structure *s)
{
	const struct profile *profile = s->c->profile;
	uint32_t at = profile->places.items[0].first_child;

	while (at) {
		enum divergence_kind kind;
		double confidence = separates(s, at, &kind);

		if (confidence > 0 && !is_told_inside(s, at, kind)) {
			add_call(s, at, kind, confidence);
		} else if (profile->places.items[at].first_child) {
			at = profile->places.items[at].first_child;
			continue;
		}
		while (at && !profile->places.items[at].next)
			at = profile->places.items[at].parent;
		at = at ? profile->places.items[at].next : 0;
	}
}

/* Additional time that the call explains: only an extra one can. */
static double explains(const struct comparison *c, const struct divergence *d)
{
	double excess = d->kind == DIVERGENCE_EXTRA ? compare_excess_ns(c, d->place) : 0;

	return excess >= max_of(EXPLAINS * compare_excess_ns(c, 0), EXPLAINS_NS) ? excess : 0;
}

/* Whether a comes before b. */
static bool comes_first(const struct comparison *c, const struct divergence *a, const struct divergence *b)
{
	bool is_noise_a = a->confidence <= NOISE_SURE, is_noise_b = b->confidence <= NOISE_SURE;
	double time_a = explains(c, a), time_b = explains(c, b);
	uint32_t first_a, first_b;

	if (is_noise_a != is_noise_b)
		return is_noise_b;
	if (time_a != time_b)
		return time_a > time_b;
	if (is_of_kind(c, a->call, a->kind) != is_of_kind(c, b->call, b->kind))
		return is_of_kind(c, b->call, b->kind);
	/* In one caller, what is done says more than what is not. */
	if (a->kind != b->kind && c->profile->places.items[a->call].parent == c->profile->places.items[b->call].parent)
		return a->kind == DIVERGENCE_EXTRA;
	first_a = profile_order(c->profile, a->kind == DIVERGENCE_EXTRA, a->call);
	first_b = profile_order(c->profile, b->kind == DIVERGENCE_EXTRA, b->call);
	/* The same also where it is not clear what is earlier: sessions of the two groups are not equally long. */
	if (a->kind != b->kind && max_of(first_a, first_b) <= ABOUT * (double)min_of(first_a, first_b) + ABOUT_CALLS)
		return a->kind == DIVERGENCE_EXTRA;
	return first_a != first_b ? first_a < first_b : a->call < b->call;
}

/* Few: insertion keeps it simple, and the relation need not be transitive. */
static void put_in_order(struct comparison *c)
{
	for (size_t i = 1; i < c->all.count; i++)
		for (size_t k = i; k > 0 && comes_first(c, &c->all.items[k], &c->all.items[k - 1]); k--) {
			struct divergence d = c->all.items[k];

			c->all.items[k] = c->all.items[k - 1];
			c->all.items[k - 1] = d;
		}
}

void compare_structure(struct comparison *c, const struct compare_subject *subject)
{
	struct structure s = {.c = c, .noise = compare_is_of_two(subject) ? NULL : &subject->sessions[0]->noise};

	learn_noise(&s);
	find_all(&s);
	put_in_order(c);
	map_done(&s.good_noise);
}
