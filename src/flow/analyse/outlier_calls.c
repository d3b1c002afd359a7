/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sessions that make other calls: a call that few sessions make (extra), few omit (missing), or few make more often.
 * They are mentioned, not accused: a rare kind of request looks the same as a fault, and only time or a label
 * distinguishes them.
 *
 * Normal rare events are excluded: a small function with several callers that sometimes needs another call (an
 * allocator), or takes another branch now and then (a tree that is rebalanced); the first session of a thread; the
 * effects of a client that sends its request in pieces; and sessions that differ everywhere: another kind of request.
 */
#include "flow/analyse/outlier.h"

/* Minimum sessions that reach the place; minimum number and maximum share of those that differ. */
#define BASE_LEAST 14
#define FEW_LEAST  2
#define FEW_SHARE  0.1
/* Functions this small make calls for their own purposes, not for their caller's. */
#define SMALL_HEIGHT  3
#define FICKLE_HEIGHT 2
#define TOOL_HEIGHT   1
/* More often: minimum factor, and minimum share of sessions with the same number of calls. */
#define MORE_FACTOR 2.0
#define SAME_SHARE  0.85
/* Minimum overlap of two sets of sessions. */
#define SAME_SESSIONS 0.6
/* A difference in more functions is another kind of request, not a fault. */
#define CALLERS_MAX 2

struct call_search {
	struct outliers *o;
	VEC(double) values; /* of the current place, by slot of sessions that reach it */
	VEC(uint32_t) who;  /* their slots */
	size_t before;      /* marks of the search for time */
	uint32_t *callers;  /* by mark that is the first of its set: functions in which its sessions differ */
};

static size_t cell_count(const struct call_search *c, uint32_t place)
{
	size_t count;

	(void)outlier_cells(c->o, place, &count);
	return count;
}

static const struct profile_cell *cells_of(const struct call_search *c, uint32_t place)
{
	size_t count;

	return outlier_cells(c->o, place, &count);
}

static const struct profile_place *place_of(const struct call_search *c, uint32_t place)
{
	return &c->o->profile->places.items[place];
}

/* Whether a common property of the sessions explains it without the program. */
static bool is_explained(const struct outliers *o, const struct outlier_set *few)
{
	return outlier_set_common(few, &o->paced) * 2 >= few->count ||
	       (outlier_set_common(few, &o->begins) * 2 >= few->count && o->begins.count * 5 <= o->cells->slots);
}

/* Sessions that reach the place's caller; all sessions reach what dispatchers call. */
static void take_base(struct call_search *c, uint32_t place)
{
	uint32_t parent = place_of(c, place)->parent;

	c->who.count = 0;
	if (!parent || place_of(c, parent)->is_dispatcher) {
		for (uint32_t i = 0; i < c->o->cells->slots; i++)
			if (c->o->weight[i])
				vec_push(&c->who, i);
		return;
	}
	for (size_t i = 0; i < cell_count(c, parent); i++)
		if (c->o->weight[cells_of(c, parent)[i].slot] && cells_of(c, parent)[i].calls)
			vec_push(&c->who, cells_of(c, parent)[i].slot);
}

static struct outlier_mark *add_mark(struct call_search *c, uint32_t place, enum divergence_kind kind,
				     const struct outlier_set *few)
{
	struct outlier_mark *mark = vec_add(&c->o->marks);

	*mark = (struct outlier_mark){.few = *few, .place = place, .kind = kind};
	return mark;
}

static bool are_few(size_t few, size_t all)
{
	return few >= FEW_LEAST && (double)few <= FEW_SHARE * (double)all;
}

/* A small function that rarely makes one of several calls has internal reasons. */
static bool is_fickle(const struct call_search *c, uint32_t caller, uint32_t place)
{
	size_t base = cell_count(c, caller);

	if (c->o->height[caller] > FICKLE_HEIGHT || c->o->cells->has_client[caller])
		return false;
	for (uint32_t at = place_of(c, caller)->first_child; at; at = place_of(c, at)->next) {
		size_t there = cell_count(c, at);

		if (at != place && there < base && (double)there > FEW_SHARE * (double)base &&
		    (double)there < (1 - FEW_SHARE) * (double)base)
			return true;
	}
	return false;
}

static bool is_noise(const struct call_search *c, uint32_t place)
{
	uint32_t caller = place_of(c, place)->parent;

	if (!caller || place_of(c, caller)->is_dispatcher)
		return false;
	/* Such as an extra clock read or log flush: other sessions also call it. */
	return (c->o->many_callers[place_of(c, caller)->fn] && c->o->height[caller] <= SMALL_HEIGHT) ||
	       (c->o->is_shared[place_of(c, place)->fn] && c->o->height[place] <= TOOL_HEIGHT) ||
	       is_fickle(c, caller, place);
}

static void mark_structure(struct call_search *c, uint32_t place)
{
	size_t there = 0, base = c->who.count;
	struct outlier_set at = {}, few = {};
	bool extra, missing;

	for (size_t i = 0; i < cell_count(c, place); i++) {
		const struct profile_cell *cell = &cells_of(c, place)[i];

		if (c->o->weight[cell->slot] && cell->calls) {
			outlier_set_add(&at, cell->slot);
			there++;
		}
	}
	extra = are_few(there, base);
	missing = there < base && are_few(base - there, base);
	if ((!extra && !missing) || is_noise(c, place))
		return;
	if (missing) {
		vec_each(&c->who, slot)
			if (!outlier_set_has(&at, *slot))
				outlier_set_add(&few, *slot);
	} else {
		few = at;
	}
	if (few.count && !is_explained(c->o, &few))
		add_mark(c, place, extra ? DIVERGENCE_EXTRA : DIVERGENCE_MISSING, &few);
}

/* Calls at a place per call of its caller. */
static void take_calls(struct call_search *c, uint32_t place)
{
	uint32_t caller = place_of(c, place)->parent;
	const struct profile_cell *up = cells_of(c, caller);
	size_t k = 0, callers = place_of(c, caller)->is_dispatcher ? 0 : cell_count(c, caller);

	c->values.count = 0;
	for (size_t i = 0; i < cell_count(c, place); i++) {
		const struct profile_cell *cell = &cells_of(c, place)[i];

		while (k < callers && up[k].slot < cell->slot)
			k++;
		vec_push(&c->values,
			 (double)cell->calls /
				 (k < callers && up[k].slot == cell->slot && up[k].calls ? (double)up[k].calls : 1));
	}
}

static int by_value(const void *a, const void *b)
{
	const double *one = a, *other = b;

	return *one < *other ? -1 : *one > *other;
}

/* The most frequent value and its count. Sorts the values. */
static double most_frequent(double *values, size_t count, size_t *ret_times)
{
	double best = 0;

	*ret_times = 0;
	qsort(values, count, sizeof(*values), by_value);
	for (size_t i = 0, end; i < count; i = end) {
		for (end = i; end < count && values[end] == values[i];)
			end++;
		if (end - i > *ret_times) {
			*ret_times = end - i;
			best = values[i];
		}
	}
	return best;
}

static void mark_more(struct call_search *c, uint32_t place)
{
	_cleanup_free_ double *sorted = NULL;
	size_t count = cell_count(c, place), times;
	struct outlier_set few = {};
	struct outlier_mark *mark;
	double usual, calls = 0;

	/* The number of reads is up to the client; small functions are called as often as there is work. */
	if (count < BASE_LEAST || c->o->cells->has_client[place] ||
	    (c->o->many_callers[place_of(c, place)->fn] && c->o->height[place] <= SMALL_HEIGHT) || is_noise(c, place) ||
	    outlier_is_dispatch(c->o, place))
		return;
	take_calls(c, place);
	sorted = xrealloc_array(NULL, count, sizeof(*sorted));
	memcpy(sorted, c->values.items, count * sizeof(*sorted));
	usual = most_frequent(sorted, count, &times);
	if ((double)times < SAME_SHARE * (double)count)
		return;
	for (size_t i = 0; i < count; i++)
		if (c->values.items[i] >= MORE_FACTOR * usual && c->o->weight[cells_of(c, place)[i].slot]) {
			outlier_set_add(&few, cells_of(c, place)[i].slot);
			calls += c->values.items[i];
		}
	if (usual <= 0 || !are_few(few.count, count) || is_explained(c->o, &few))
		return;
	mark = add_mark(c, place, DIVERGENCE_EXTRA, &few);
	mark->good_calls = usual;
	mark->bad_calls = calls / few.count;
}

/* --- the result --- */

/* Groups marks of the same sessions. */
static void join_marks(struct call_search *c)
{
	for (size_t i = c->before; i < c->o->marks.count; i++) {
		struct outlier_mark *mark = &c->o->marks.items[i];

		mark->set = (uint32_t)i;
		for (size_t k = c->before; k < i && mark->set == i; k++) {
			const struct outlier_mark *other = &c->o->marks.items[k];
			uint32_t both = outlier_set_common(&mark->few, &other->few);

			if (other->set == k && both >= SAME_SESSIONS * (mark->few.count + other->few.count - both))
				mark->set = (uint32_t)k;
		}
	}
}

/* Functions in which the sessions of a set differ; those dispatched differently arrived at another moment. */
static void count_callers(struct call_search *c)
{
	c->callers = xzalloc((c->o->marks.count + 1) * sizeof(*c->callers));
	for (size_t i = c->before; i < c->o->marks.count; i++) {
		const struct outlier_mark *mark = &c->o->marks.items[i];
		bool is_new = true;

		for (size_t k = c->before; k < i && is_new; k++)
			is_new = c->o->marks.items[k].set != mark->set ||
				 place_of(c, c->o->marks.items[k].place)->parent != place_of(c, mark->place)->parent;
		c->callers[mark->set] += outlier_is_dispatch(c->o, mark->place) ? CALLERS_MAX + 1 : is_new;
	}
}

/* Preference: extra call, then a missing one; then the outermost. */
static bool says_more(const struct call_search *c, const struct outlier_mark *a, const struct outlier_mark *b)
{
	uint32_t depth_a = place_of(c, a->place)->depth, depth_b = place_of(c, b->place)->depth;

	if (a->kind != b->kind)
		return a->kind == DIVERGENCE_EXTRA;
	return depth_a != depth_b ? depth_a < depth_b : a->place < b->place;
}

/* The largest set; one that differs in few functions before another kind of request. */
static const struct outlier_mark *choose(struct call_search *c)
{
	const struct outlier_mark *best = NULL;
	bool is_kind = false;

	for (size_t i = c->before; i < c->o->marks.count; i++) {
		const struct outlier_mark *mark = &c->o->marks.items[i];
		bool other_kind = c->callers[mark->set] > CALLERS_MAX;

		if (best && (other_kind && !is_kind))
			continue;
		if (!best || (is_kind && !other_kind) || mark->few.count > best->few.count ||
		    (mark->set == best->set && says_more(c, mark, best))) {
			best = mark;
			is_kind = other_kind;
		}
	}
	return best;
}

const struct outlier_mark *outlier_find_calls(struct outliers *o)
{
	struct call_search c = {.o = o, .before = o->marks.count};
	const struct outlier_mark *best;

	for (uint32_t place = 1; place < o->profile->places.count; place++) {
		if (place_of(&c, place)->is_dispatcher || !cell_count(&c, place))
			continue;
		/* Those of the place and of its caller. */
		outlier_will_read(o, 2 * cell_count(&c, place) * sizeof(struct profile_cell));
		take_base(&c, place);
		if (c.who.count < BASE_LEAST)
			continue;
		mark_structure(&c, place);
		mark_more(&c, place);
	}
	join_marks(&c);
	count_callers(&c);
	best = choose(&c);
	free(c.callers);
	vec_done(&c.values);
	vec_done(&c.who);
	return best;
}
