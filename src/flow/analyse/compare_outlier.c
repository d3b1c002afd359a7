/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the few sessions among many that differ, without labels. Per session and place:
 *
 * - a call that few sessions make (extra), few omit (missing), or few make more often;
 * - a function with much more self time in few sessions, beyond preemption by the machine, which hits every place in
 *   proportion to the time spent there.
 *
 * Normal rare events are excluded: a small function with several callers that sometimes needs another call (an
 * allocator), or takes another branch now and then (a tree that is rebalanced); the first session of a thread; and the
 * effects of a client that sends its request in pieces.
 */
#include "flow/analyse/compare.h"

#define SLOT_WORDS (PROFILE_SLOTS / 64)

/* Minimum sessions that reach the place; minimum number and maximum share of those that differ. */
#define BASE_LEAST 16
#define FEW_LEAST  2
#define FEW_SHARE  0.1
/* Functions this small make calls for their own purposes, not for their caller's. */
#define SMALL_HEIGHT  3
#define FICKLE_HEIGHT 2
/* More often: minimum factor, and minimum share of sessions with the same number of calls. */
#define MORE_FACTOR 2.0
#define SAME_SHARE  0.85
/*
 * Slower: minimum factor, deviations, time, and share of a session's own time; HAND_OVER_NS where a dispatcher only
 * passes work on to another thread, which may preempt it at once.
 */
#define SLOW_FACTOR     2.0
#define SLOW_DEVIATIONS 8.0
#define SLOW_LEAST_NS   50000.0
#define HAND_OVER_NS    1000000.0
#define SLOW_SHARE      0.1
#define SLOW_CHANCE     0.001
/*
 * Minimum number of sessions, which lost more than all others by the factor SLOW_GAP, and half of them at most
 * SLOW_ALIKE times the smallest loss: preemption has no such gap, and its cost varies.
 */
#define SLOW_SESSIONS 3
#define SLOW_GAP      1.7
#define SLOW_ALIKE    2.0
/* Tail of preemption cost: k losses exceed all others by a factor g with probability g^(-TAIL * k). */
#define TAIL 0.7
/* Work costs the same each time; an equally long preemption, within SAME_COST, has at most SAME_COST_CHANCE. */
#define SAME_COST        1.15
#define SAME_COST_CHANCE 0.1
/* But preemptions by the scheduler are similar: one time slice. */
#define SLICE_NS 700000.0
/*
 * Where a program blocks in the kernel it is preempted more often than its time there suggests: assume at least this
 * share; BEGIN_SPENT where a thread turns to a session after a wake-up.
 */
#define LEAST_SPENT 0.05
#define BEGIN_SPENT 0.3
/* Minimum overlap of two sets of sessions. */
#define SAME_SESSIONS 0.6
/* A difference in more functions is another kind of request, not a fault. */
#define CALLERS_MAX 2
/* With more rare calls than this, the program has many rare paths, and none is significant. */
#define RARE_MAX 2
/* Minimum share of sessions with the same normal behaviour. */
#define USUAL_SHARE 0.6

struct slots {
	uint64_t words[SLOT_WORDS];
	uint32_t count;
};

/* Something that few sessions do. */
struct mark {
	struct slots few;
	uint32_t place;
	uint32_t set; /* index of the first mark with the same sessions */
	enum divergence_kind kind;
	double good_calls, bad_calls;
	double good_ns, bad_ns; /* per call */
	double excess;          /* nanoseconds, over all of them */
	double chance;          /* of a slower one by chance */
};

struct outliers {
	struct flow_sessions *s;
	const struct profile *profile;
	const struct profile_cells *cells;
	uint32_t *height;    /* by place */
	bool *many_callers;  /* by function */
	struct slots paced;  /* sessions whose client sent in more pieces than most */
	struct slots begins; /* first session of a thread */
	double own_ns;       /* median per session */
	double *spent;       /* by place: nanoseconds over all sessions, at the median each */
	double all_spent;
	uint32_t tests;     /* places where enough sessions lost time to be tested */
	VEC(double) losses; /* excess over the median, all places; sorted */
	VEC(double) values; /* of the current place, by slot of sessions that reach it */
	VEC(uint32_t) who;  /* their slots */
	VEC(struct mark) marks;
};

static void put(struct slots *s, uint32_t slot)
{
	uint64_t bit = UINT64_C(1) << slot % 64;

	s->count += !(s->words[slot / 64] & bit);
	s->words[slot / 64] |= bit;
}

static bool has(const struct slots *s, uint32_t slot)
{
	return s->words[slot / 64] >> slot % 64 & 1;
}

static uint32_t common(const struct slots *a, const struct slots *b)
{
	uint32_t count = 0;

	for (size_t i = 0; i < SLOT_WORDS; i++)
		count += (uint32_t)__builtin_popcountll(a->words[i] & b->words[i]);
	return count;
}

static size_t cell_count(const struct outliers *o, uint32_t place)
{
	size_t count;

	(void)profile_cells_at(o->cells, place, &count);
	return count;
}

static const struct profile_cell *cells_of(const struct outliers *o, uint32_t place)
{
	size_t count;

	return profile_cells_at(o->cells, place, &count);
}

/* --- properties of places and sessions --- */

static void index_places(struct outliers *o)
{
	size_t n = o->profile->places.count;
	uint32_t *caller = xzalloc((o->s->trace->function_count + 1) * sizeof(*caller));

	o->height = xzalloc((n + 1) * sizeof(*o->height));
	o->many_callers = xzalloc(o->s->trace->function_count + 1);
	for (uint32_t place = 1; place < n; place++) {
		const struct profile_place *p = &o->profile->places.items[place];
		uint32_t up = o->profile->places.items[p->parent].fn + 1;

		if (!cell_count(o, place))
			continue;
		o->many_callers[p->fn] |= caller[p->fn] && caller[p->fn] != up;
		caller[p->fn] = up;
	}
	for (size_t i = n; i-- > 1;) {
		uint32_t parent = o->profile->places.items[i].parent;

		o->height[parent] = max_of(o->height[parent], o->height[i] + 1);
	}
	free(caller);
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

static void know_sessions(struct outliers *o)
{
	uint32_t slots = o->cells->slots;
	_cleanup_free_ double *reads = xzalloc((slots + 1) * sizeof(*reads)),
			      *own = xzalloc((slots + 1) * sizeof(*own));
	_cleanup_free_ bool *known = xzalloc(o->s->trace->thread_count + 1);
	size_t times;
	double usual;

	for (uint32_t i = 0; i < slots; i++) {
		reads[i] = o->cells->reads[i];
		own[i] = (double)flow_span_ns(o->s->trace, o->cells->own_ticks.items[(size_t)i * o->cells->stride]);
	}
	qsort(own, slots, sizeof(*own), by_value);
	o->own_ns = own[slots / 2];
	usual = most_frequent(reads, slots, &times);
	for (uint32_t i = 0; i < slots; i++)
		if (times * 2 >= slots && o->cells->reads[i] > usual)
			put(&o->paced, i);
	for (size_t i = 0; i < o->s->list.count; i++) {
		const struct flow_row *row = &o->s->list.items[i];

		if (!known[row->thread] && i % o->cells->stride == 0)
			put(&o->begins, (uint32_t)(i / o->cells->stride));
		known[row->thread] = true;
		spill_trim_at(i);
	}
}

/* Whether a common property of the sessions explains it without the program. */
static bool is_explained(const struct outliers *o, const struct slots *few)
{
	return common(few, &o->paced) * 2 >= few->count ||
	       (common(few, &o->begins) * 2 >= few->count && o->begins.count * 5 <= o->cells->slots);
}

/* --- structure --- */

/* Sessions that reach the place's caller; all sessions reach what dispatchers call. */
static void take_base(struct outliers *o, uint32_t place)
{
	uint32_t parent = o->profile->places.items[place].parent;

	o->who.count = 0;
	if (!parent || o->profile->places.items[parent].is_dispatcher) {
		for (uint32_t i = 0; i < o->cells->slots; i++)
			vec_push(&o->who, i);
		return;
	}
	for (size_t i = 0; i < cell_count(o, parent); i++)
		vec_push(&o->who, cells_of(o, parent)[i].slot);
}

static struct mark *add_mark(struct outliers *o, uint32_t place, enum divergence_kind kind, const struct slots *few)
{
	struct mark *mark = vec_add(&o->marks);

	*mark = (struct mark){.few = *few, .place = place, .kind = kind};
	return mark;
}

static bool are_few(size_t few, size_t all)
{
	return few >= FEW_LEAST && (double)few <= FEW_SHARE * (double)all;
}

/* A small function that rarely makes one of several calls has internal reasons. */
static bool is_fickle(const struct outliers *o, uint32_t caller, uint32_t place)
{
	size_t base = cell_count(o, caller);

	if (o->height[caller] > FICKLE_HEIGHT || o->cells->has_client[caller])
		return false;
	for (uint32_t at = o->profile->places.items[caller].first_child; at; at = o->profile->places.items[at].next) {
		size_t there = cell_count(o, at);

		if (at != place && there < base && (double)there > FEW_SHARE * (double)base &&
		    (double)there < (1 - FEW_SHARE) * (double)base)
			return true;
	}
	return false;
}

/* Root call of a segment. */
static bool is_begin(const struct outliers *o, uint32_t place)
{
	uint32_t caller = o->profile->places.items[place].parent;

	return !caller || o->profile->places.items[caller].is_dispatcher;
}

/* Calls of a dispatcher without the client's socket are for moving on to the next one. */
static bool is_dispatch(const struct outliers *o, uint32_t place)
{
	return is_begin(o, place) && !o->cells->has_client[place];
}

static bool is_noise(const struct outliers *o, uint32_t place)
{
	uint32_t caller = o->profile->places.items[place].parent;

	if (!caller || o->profile->places.items[caller].is_dispatcher)
		return false;
	return (o->many_callers[o->profile->places.items[caller].fn] && o->height[caller] <= SMALL_HEIGHT) ||
	       is_fickle(o, caller, place);
}

static void mark_structure(struct outliers *o, uint32_t place)
{
	size_t there = cell_count(o, place), base = o->who.count;
	struct slots at = {}, few = {};
	bool extra = are_few(there, base), missing = there < base && are_few(base - there, base);

	if ((!extra && !missing) || is_noise(o, place))
		return;
	for (size_t i = 0; i < there; i++)
		put(&at, cells_of(o, place)[i].slot);
	if (missing) {
		vec_each(&o->who, slot)
			if (!has(&at, *slot))
				put(&few, *slot);
	} else {
		few = at;
	}
	if (few.count && !is_explained(o, &few))
		add_mark(o, place, extra ? DIVERGENCE_EXTRA : DIVERGENCE_MISSING, &few);
}

/* Calls at a place per call of its caller. */
static void take_calls(struct outliers *o, uint32_t place)
{
	uint32_t caller = o->profile->places.items[place].parent;
	const struct profile_cell *up = cells_of(o, caller);
	size_t k = 0, callers = o->profile->places.items[caller].is_dispatcher ? 0 : cell_count(o, caller);

	o->values.count = 0;
	for (size_t i = 0; i < cell_count(o, place); i++) {
		const struct profile_cell *cell = &cells_of(o, place)[i];

		while (k < callers && up[k].slot < cell->slot)
			k++;
		vec_push(&o->values,
			 (double)cell->calls / (k < callers && up[k].slot == cell->slot ? (double)up[k].calls : 1));
	}
}

static void mark_more(struct outliers *o, uint32_t place)
{
	_cleanup_free_ double *sorted = NULL;
	size_t count = cell_count(o, place), times;
	struct slots few = {};
	struct mark *mark;
	double usual, calls = 0;

	/* The number of reads is up to the client; small functions are called as often as there is work. */
	if (count < BASE_LEAST || o->cells->has_client[place] ||
	    (o->many_callers[o->profile->places.items[place].fn] && o->height[place] <= SMALL_HEIGHT) ||
	    is_noise(o, place) || is_dispatch(o, place))
		return;
	take_calls(o, place);
	sorted = xrealloc_array(NULL, count, sizeof(*sorted));
	memcpy(sorted, o->values.items, count * sizeof(*sorted));
	usual = most_frequent(sorted, count, &times);
	if ((double)times < SAME_SHARE * (double)count)
		return;
	for (size_t i = 0; i < count; i++)
		if (o->values.items[i] >= MORE_FACTOR * usual) {
			put(&few, cells_of(o, place)[i].slot);
			calls += o->values.items[i];
		}
	if (!are_few(few.count, count) || is_explained(o, &few))
		return;
	mark = add_mark(o, place, DIVERGENCE_EXTRA, &few);
	mark->good_calls = usual;
	mark->bad_calls = calls / few.count;
}

/* --- time --- */

/*
 * Time of a typical number of calls, in nanoseconds, per session that reaches the place; in o->values. Sessions without
 * the call count 0. Returns that number of calls.
 */
static double take_times(struct outliers *o, uint32_t place)
{
	size_t count = cell_count(o, place), k = 0;
	_cleanup_free_ double *calls = xrealloc_array(NULL, count + 1, sizeof(*calls));
	const struct profile_cell *cells = cells_of(o, place);
	double usual;

	for (size_t i = 0; i < count; i++)
		calls[i] = (double)cells[i].calls;
	qsort(calls, count, sizeof(*calls), by_value);
	usual = calls[count / 2];
	o->values.count = 0;
	vec_each(&o->who, slot) {
		while (k < count && cells[k].slot < *slot)
			k++;
		vec_push(&o->values,
			 k < count && cells[k].slot == *slot
				 ? (double)flow_span_ns(o->s->trace, cells[k].ticks) / (double)cells[k].calls * usual
				 : 0);
	}
	return usual;
}

static double median_of(const double *values, size_t count, double *ret_deviation)
{
	_cleanup_free_ double *sorted = xrealloc_array(NULL, count, sizeof(*sorted));
	double median;

	memcpy(sorted, values, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), by_value);
	median = sorted[count / 2];
	for (size_t i = 0; i < count; i++)
		sorted[i] = fabs(sorted[i] - median);
	qsort(sorted, count, sizeof(*sorted), by_value);
	*ret_deviation = 1.4826 * sorted[count / 2];
	return median;
}

/* Probability of at least count events when `expected` are expected (Poisson). */
static double chance_of(uint32_t count, double expected)
{
	double term = exp(-expected), below = 0;

	for (uint32_t i = 0; i < count; i++) {
		below += term;
		term *= expected / (i + 1);
	}
	/* For small tails 1 - below loses its digits: sum the first terms instead. */
	if (1 - below > 1e-9)
		return 1 - below;
	for (below = 0; count < 1000 && term > 1e-300; term *= expected / ++count)
		below += term;
	return below;
}

/* Losses of all places above this one, and those of the current place. */
static uint32_t losses_above(const struct outliers *o, double excess)
{
	size_t low = 0, high = o->losses.count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (o->losses.items[middle] < excess)
			low = middle + 1;
		else
			high = middle;
	}
	return (uint32_t)(o->losses.count - low);
}

/* Probability of at least `count` losses of that size at the place, if losses hit all places alike. */
static double chance_of_losses(const struct outliers *o, uint32_t place, uint32_t count, double excess)
{
	double here = o->spent[place], elsewhere = o->all_spent - here, rate;
	uint32_t all = losses_above(o, excess), others = all - min_of(all, count);

	rate = max_of(0.5 / max_of(o->all_spent, 1.0), others / max_of(elsewhere, 1.0));
	here = max_of(here, (is_begin(o, place) ? BEGIN_SPENT : LEAST_SPENT) * o->all_spent);
	return min_of(1.0, o->tests * chance_of(count, rate * here));
}

/* Minimum loss at a place for a session to count as slower. */
static double least_loss(const struct outliers *o, uint32_t place, double median, double deviation)
{
	const struct profile_place *places = o->profile->places.items;
	uint32_t segment = place;

	while (places[segment].parent && !places[places[segment].parent].is_dispatcher)
		segment = places[segment].parent;
	return max_of(max_of((SLOW_FACTOR - 1) * median, SLOW_DEVIATIONS * deviation),
		      max_of(o->cells->has_client[segment] ? SLOW_LEAST_NS : HAND_OVER_NS, SLOW_SHARE * o->own_ns));
}

/* Losses of all sessions at all places, and their normal time there. */
static void find_losses(struct outliers *o)
{
	o->spent = xzalloc((o->profile->places.count + 1) * sizeof(*o->spent));
	for (uint32_t place = 1; place < o->profile->places.count; place++) {
		double deviation, median, least;
		uint32_t slower = 0;

		take_base(o, place);
		if (o->who.count < BASE_LEAST || !cell_count(o, place) || is_dispatch(o, place))
			continue;
		(void)take_times(o, place);
		median = median_of(o->values.items, o->values.count, &deviation);
		least = least_loss(o, place, median, deviation);
		o->spent[place] = median * (double)o->who.count;
		o->all_spent += o->spent[place];
		for (size_t i = 0; i < o->who.count; i++) {
			double excess = o->values.items[i] - median;

			/* Skip the very first session: caches are cold. */
			if (excess >= SLOW_LEAST_NS && o->who.items[i])
				vec_push(&o->losses, excess);
			slower += excess >= least;
		}
		o->tests += slower >= SLOW_SESSIONS;
	}
	vec_sort(&o->losses, by_value);
}

/* Probability that at least that many of the losses agree as they do. */
static double chance_of_same(const double *lost, size_t count)
{
	size_t same = 1;
	double ways = 1;

	for (size_t i = 0, end = 0; i < count; i++) {
		while (end < count && lost[end] <= SAME_COST * lost[i])
			end++;
		same = max_of(same, end - i);
	}
	for (size_t i = 0; i < same; i++)
		ways *= (double)(count - i) / (double)(i + 1);
	return min_of(1.0, ways * pow(SAME_COST_CHANCE, (double)same - 1));
}

/*
 * Selects the number of largest losses that is least likely by chance: the smallest of them, and the probability.
 * Losses are sorted, insignificant ones first.
 */
static double choose_slower(const struct outliers *o, uint32_t place, const double *lost, double least,
			    double *ret_chance)
{
	size_t count = o->who.count;
	double limit = INFINITY;

	*ret_chance = 1;
	/* The place with most of the time is also preempted most. */
	for (size_t k = SLOW_SESSIONS + (o->spent[place] > o->all_spent / 2);
	     are_few(k, count) && lost[count - k] >= least; k++) {
		double chance, this = lost[count - k], gap = this / max_of(lost[count - k - 1], least / SLOW_GAP);

		if (gap < SLOW_GAP || lost[count - k + k / 2] > SLOW_ALIKE * this)
			continue;
		chance = chance_of_losses(o, place, (uint32_t)k, this) * pow(gap, -TAIL * (double)k);
		if (this < SLICE_NS)
			chance *= chance_of_same(lost + count - k, k);
		if (chance < *ret_chance) {
			*ret_chance = chance;
			limit = this;
		}
	}
	return limit;
}

static void mark_slower(struct outliers *o, uint32_t place)
{
	struct mark mark = {.place = place, .kind = DIVERGENCE_SLOWER};
	_cleanup_free_ double *lost = xrealloc_array(NULL, o->who.count, sizeof(*lost));
	double usual = take_times(o, place), deviation, median, limit;

	/* Passing work wakes another thread, which may preempt at once. */
	if (o->cells->is_push[place])
		return;
	median = median_of(o->values.items, o->values.count, &deviation);
	for (size_t i = 0; i < o->who.count; i++)
		lost[i] = o->values.items[i] - median;
	qsort(lost, o->who.count, sizeof(*lost), by_value);
	limit = choose_slower(o, place, lost, least_loss(o, place, median, deviation), &mark.chance);
	if (mark.chance > SLOW_CHANCE)
		return;
	for (size_t i = 0; i < o->who.count; i++)
		if (o->values.items[i] - median >= limit) {
			put(&mark.few, o->who.items[i]);
			mark.excess += o->values.items[i] - median;
		}
	mark.good_ns = median / usual;
	mark.bad_ns = (median + mark.excess / mark.few.count) / usual;
	if (!is_explained(o, &mark.few))
		vec_push(&o->marks, mark);
}

/* --- the result --- */

/* Groups marks of the same sessions. */
static void join_marks(struct outliers *o)
{
	for (size_t i = 0; i < o->marks.count; i++) {
		struct mark *mark = &o->marks.items[i];

		mark->set = (uint32_t)i;
		for (size_t k = 0; k < i && mark->set == i; k++) {
			const struct mark *other = &o->marks.items[k];
			uint32_t both = common(&mark->few, &other->few);

			if (other->set == k && both >= SAME_SESSIONS * (mark->few.count + other->few.count - both))
				mark->set = (uint32_t)k;
		}
	}
}

static bool is_structure(const struct mark *mark)
{
	return mark->kind != DIVERGENCE_SLOWER;
}

static bool is_same_caller(const struct outliers *o, const struct mark *a, const struct mark *b)
{
	return is_structure(a) && is_structure(b) && a->set == b->set &&
	       o->profile->places.items[a->place].parent == o->profile->places.items[b->place].parent;
}

/*
 * Sessions that differ everywhere are of another kind, and those dispatched differently arrived at another moment:
 * neither is a fault.
 */
static void forget_kinds(struct outliers *o)
{
	_cleanup_free_ uint32_t *callers = xzalloc((o->marks.count + 1) * sizeof(*callers));
	size_t kept = 0;

	vec_each(&o->marks, mark) {
		bool is_new = is_structure(mark);

		for (const struct mark *other = o->marks.items; other < mark; other++)
			is_new &= !is_same_caller(o, other, mark);
		callers[mark->set] += is_structure(mark) && is_dispatch(o, mark->place) ? CALLERS_MAX + 1 : is_new;
	}
	/* A set is named after its first mark, which may be gone. */
	for (size_t i = 0; i < o->marks.count; i++)
		if (callers[o->marks.items[i].set] <= CALLERS_MAX)
			o->marks.items[kept++] = o->marks.items[i];
	o->marks.count = kept;
}

/* Whether most sessions, except those of the mark, are of one class. */
static bool is_usual_clear(const struct outliers *o, const struct mark *mark)
{
	_cleanup_free_ uint32_t *sessions = xzalloc((o->s->classes.count + 2) * sizeof(*sessions));
	uint32_t most = 0, all = 0;

	for (uint32_t i = 0; i < o->cells->slots; i++) {
		uint32_t class = o->s->list.items[(size_t)i * o->cells->stride].class;

		if (has(&mark->few, i))
			continue;
		all++;
		most = max_of(most, ++sessions[min_of(class, (uint32_t)o->s->classes.count)]);
	}
	return most >= USUAL_SHARE * all;
}

/* Preference: extra call, missing call, slower call; then the outermost. */
static bool says_more(const struct outliers *o, const struct mark *a, const struct mark *b)
{
	static const uint8_t rank[] = {[DIVERGENCE_EXTRA] = 0, [DIVERGENCE_MISSING] = 1, [DIVERGENCE_SLOWER] = 2};
	uint32_t depth_a = o->profile->places.items[a->place].depth, depth_b = o->profile->places.items[b->place].depth;

	if (rank[a->kind] != rank[b->kind])
		return rank[a->kind] < rank[b->kind];
	if (a->kind == DIVERGENCE_SLOWER)
		return a->excess > b->excess;
	return depth_a != depth_b ? depth_a < depth_b : a->place < b->place;
}

/* The largest structural set; NULL: none, or too many to be significant. */
static const struct mark *best_structure(const struct outliers *o)
{
	const struct mark *best = NULL;
	uint32_t sets = 0;

	vec_each(&o->marks, mark) {
		bool is_first = is_structure(mark);

		for (const struct mark *other = o->marks.items; other < mark; other++)
			is_first &= !is_structure(other) || other->set != mark->set;
		sets += is_first;
		if (is_structure(mark) && (!best || mark->few.count > best->few.count ||
					   (mark->set == best->set && says_more(o, mark, best))))
			best = mark;
	}
	return sets <= RARE_MAX && best && is_usual_clear(o, best) ? best : NULL;
}

static const struct mark *best_slower(const struct outliers *o)
{
	const struct mark *best = NULL;

	vec_each(&o->marks, mark)
		if (!is_structure(mark) && mark->chance <= SLOW_CHANCE && (!best || mark->excess > best->excess))
			best = mark;
	return best;
}

/* For the same sessions, structure over time; otherwise the least likely by chance. */
static const struct mark *choose(const struct outliers *o)
{
	const struct mark *structure = best_structure(o), *slower = best_slower(o);

	if (!structure || !slower || structure->set == slower->set)
		return structure ? structure : slower;
	return slower->chance < 1e-5 && slower->few.count >= structure->few.count ? slower : structure;
}

static void describe(const struct outliers *o, const struct mark *mark, struct compare_outlier *ret_outlier)
{
	const char *name = o->s->trace->functions[o->profile->places.items[mark->place].fn].name;
	_cleanup_buf_ struct buf how = BUF_INIT(4096);
	uint32_t depth = o->profile->places.items[mark->place].depth, at = mark->place;

	buf_add_format(&how, "sessions ");
	if (mark->good_calls > 0)
		buf_add_format(&how, "that call %s more often than the others", name);
	else if (mark->kind == DIVERGENCE_SLOWER)
		buf_add_format(&how, "in which %s takes longer than in the others", name);
	else
		buf_add_format(&how, "that %s %s, as the others do%s",
			       mark->kind == DIVERGENCE_EXTRA ? "call" : "do not call", name,
			       mark->kind == DIVERGENCE_EXTRA ? " not" : "");
	*ret_outlier = (struct compare_outlier){
		.how = xstrdup(buf_text(&how)),
		.kind = mark->kind,
		.good_calls = mark->good_calls,
		.bad_calls = mark->bad_calls,
		.good_call_ns = (uint64_t)mark->good_ns,
		.bad_call_ns = (uint64_t)mark->bad_ns,
		.confidence = 1 - mark->chance,
	};
	for (uint32_t i = 0; i < depth; i++)
		(void)vec_add(&ret_outlier->path);
	for (uint32_t i = depth; i-- > 0; at = o->profile->places.items[at].parent)
		ret_outlier->path.items[i] = o->profile->places.items[at].fn;
}

static void find_marks(struct outliers *o)
{
	for (uint32_t place = 1; place < o->profile->places.count; place++) {
		if (o->profile->places.items[place].is_dispatcher || !cell_count(o, place))
			continue;
		take_base(o, place);
		if (o->who.count < BASE_LEAST)
			continue;
		mark_structure(o, place);
		mark_more(o, place);
		mark_slower(o, place);
	}
	join_marks(o);
	forget_kinds(o);
}

size_t compare_outlier_find(struct flow_sessions *s, struct profile *profile, const struct profile_cells *cells,
			    uint8_t *ret_group_of, struct compare_outlier *ret_outlier)
{
	struct outliers o = {.s = s, .profile = profile, .cells = cells};
	const struct mark *mark;
	size_t bad = 0;

	if (cells->slots < BASE_LEAST)
		return 0;
	index_places(&o);
	know_sessions(&o);
	find_losses(&o);
	find_marks(&o);
	mark = choose(&o);
	if (mark) {
		/* Sessions without a slot were not examined: they are in neither group. */
		for (size_t i = 0; i < s->list.count; i++) {
			ret_group_of[i] =
				i % cells->stride ? UINT8_MAX : has(&mark->few, (uint32_t)(i / cells->stride));
			spill_trim_at(i);
		}
		bad = mark->few.count;
		describe(&o, mark, ret_outlier);
	}
	vec_done(&o.marks);
	vec_done(&o.values);
	vec_done(&o.losses);
	free(o.spent);
	vec_done(&o.who);
	free(o.height);
	free(o.many_callers);
	return bad;
}
