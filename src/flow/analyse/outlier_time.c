/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sessions that take longer. Per place and kind of time, the excess over the median session is sorted. How often chance
 * produces an excess as large as those of the k first is extrapolated from the sessions that follow, for excesses with
 * a tail, beyond what the longest scheduling delays of the threads are. Few but extreme sessions count, many mild ones
 * do not. It is corrected for the places looked at and for the choice of k.
 *
 * Not excess: what a session's number of requests or bytes explains, the time its threads waited for a CPU, what the
 * first session of a thread costs, and what hits other places as well.
 */
#include "flow/analyse/outlier.h"

#include "flow/analyse/delay_noise.h"

/* Smallest excess that is reported, and that counts in the comparison with the next one. */
#define OWN_NS    1e6
#define CLIENT_NS 1e9
#define COUNTS    0.1
/* Steps of the search for the smallest excess that would be found, and its end. */
#define SEEN_STEP 1.05
#define SEEN_MOST 1e13
/* False alarm rate. */
#define CHANCE 0.01
/* Smallest factor between the k-th excess and the next. */
#define GAP 2.0
/* Tail of the excesses: twice as large is 2^tail times as rare. Of own time: scheduling delays are known, or not. */
#define TAIL_CPU    2.5
#define TAIL_CLIENT 2.0
#define TAIL_OWN    3.0
#define TAIL_OTHERS 2.0
#define TAIL_NOISY  1.0
/* It is estimated from this number of excesses, at least and at most, down to the least that is assumed. */
#define TAIL_SAMPLES_LEAST 10
#define TAIL_SAMPLES       30
#define TAIL_LEAST         1.0
/* Sessions that follow, from which the expectation is extrapolated; what is added to their number, for chance. */
#define NEXT      3
#define NEXT_MORE 1.0
/* What a thread may lose at any time, and compute more: page faults, caches, interrupts. */
#define HICCUP_NS     1e6
#define HICCUP_CPU_NS 5e5
/* An excess of this share of the smallest one counts as the same, elsewhere. */
#define AS_LARGE 0.5
/* A program is interrupted more often where it begins to work, or enters the kernel, than its time there suggests. */
#define BEGIN_SPENT 0.3
#define LEAST_SPENT 0.05
/* Most of the time that a byte may cost, to be copied a few times: small sessions have other costs. */
#define BYTE_NS 5.0
/* Smallest excess of waiting for another process, if no others wait for it. */
#define ALONE_NS 1e7
/* Largest excess of a wait for another process that its scheduling delays explain, or where no others come. */
#define SLICES_NS 2e7
/* Sessions that begin a thread are special if they are at most this share, and at least half of them take longer. */
#define BEGINS_SHARE 0.2
/* Smallest excess of a member, as a share of the mean of the set. */
#define SAME_SHARE 0.125
/* A set that is so early by chance with less than this probability is the warm-up. */
#define BEGIN_CHANCE 0.005
/* A warm-up ends within this share of the sessions. */
#define BEGIN_SHARE (1.0 / 3)
/* Smallest excess of a member that does not stand out where most of the time is, of the mean of the set. */
#define ELSEWHERE_SHARE (1.0 / 3)
/* Smallest logarithm of the chance of such a set, as a share of that of the sessions that do. */
#define ELSEWHERE_SURE (2.0 / 3)
/* Smallest CPU time of sessions that stand out by it, of the own time of those that stand out by that. */
#define CPU_SHARE 0.5
/* The search descends into a call with this share of the excess. */
#define MOST 0.6
/* So many sessions that compute for about as long, up to this factor, make requests of a kind that takes that long. */
#define KIND_LEAST  8
#define KIND_SPREAD 2.0
/* Longest computation of a request that no other session makes, of what a usual session computes in all. */
#define RARE_FACTOR 8.0

struct sample {
	double excess;
	uint32_t slot;
};

/* An excess at one place. */
struct loss {
	double excess;
	uint32_t place, slot;
};

/* Time of a session at a place: what the search reads of a cell. Most are zero and left out. */
struct time_value {
	float ns;
	uint16_t slot;
};

struct time_table {
	SPILL(struct time_value) values; /* by place, then slot */
	size_t *first;                   /* by place, plus an end entry */
};

/* Whose time it is: each is corrected for its own places only, which are few for clients and other processes. */
enum family { FAMILY_OWN, FAMILY_CPU, FAMILY_OTHERS, FAMILY_CLIENT, FAMILIES };

struct time_search {
	struct outliers *o;
	struct time_table tables[PROFILE_TIMES];
	const bool *counts;   /* by place: its time is a session's */
	double *values;       /* by slot, of the current place: nanoseconds */
	double *for_requests; /* by slot: what its number of requests explains, */
	double *for_bytes;    /* and that of its bytes */
	double *usual_share;  /* by place: part of a usual request that is spent in the functions there and below */
	struct sample *samples;
	size_t count;
	double usual[PROFILE_TIMES]; /* median of the sessions as a whole: own and CPU time */
	double *spent;               /* by place: nanoseconds of all sessions */
	double all_spent;
	double tests[FAMILIES];   /* places where sessions differ */
	struct delay_noise noise; /* of all threads, also when nobody was served */
	double others_delay;      /* delays_of_others */
	/* Of the current place. */
	uint32_t place;
	double median;
	enum family family;
	double others; /* sessions that wait for another process there */
	SPILL(struct loss) losses;
	double *room;
};

static bool is_client(enum profile_time time)
{
	return time == PROFILE_DRIP || time == PROFILE_STALL;
}

static enum family family_of(const struct time_search *t, uint32_t place, enum profile_time time)
{
	if (is_client(time))
		return FAMILY_CLIENT;
	return time == PROFILE_CPU ? FAMILY_CPU : t->o->cells->is_upstream[place] ? FAMILY_OTHERS : FAMILY_OWN;
}

/* As with labels: such a session takes twice as long as others. */
static double floor_of(const struct time_search *t, enum profile_time time)
{
	return is_client(time) ? CLIENT_NS : max_of(OWN_NS, t->usual[time]);
}

static int by_value(const void *a, const void *b)
{
	const double *one = a, *other = b;

	return *one < *other ? -1 : *one > *other;
}

static int largest_first(const void *a, const void *b)
{
	const struct sample *one = a, *other = b;

	if (one->excess != other->excess)
		return one->excess > other->excess ? -1 : 1;
	return one->slot < other->slot ? -1 : one->slot > other->slot;
}

/* Over the examined sessions; a summarised one counts as many. */
static double median_of(struct time_search *t, const double *values)
{
	const struct outliers *o = t->o;
	double below = 0, limit;
	size_t n = 0;

	for (uint32_t i = 0; i < o->cells->slots; i++)
		if (o->weight[i])
			t->room[n++] = values[i];
	qsort(t->room, n, sizeof(*t->room), by_value);
	if (!o->s->trace->summarised)
		return n ? t->room[n / 2] : 0;
	/* Rows differ in weight: the value with half of all below it. */
	for (size_t k = 0; k < n; k++) {
		limit = t->room[k];
		below = 0;
		for (uint32_t i = 0; i < o->cells->slots; i++)
			below += values[i] <= limit ? o->weight[i] : 0;
		if (below * 2 >= o->all)
			return limit;
	}
	return 0;
}

/* Whether the place counts in sessions' time: not dispatchers, nor what they call to move on. */
static bool *places_that_count(const struct outliers *o)
{
	bool *counts = xzalloc(o->profile->places.count + 1);

	for (uint32_t i = 1; i < o->profile->places.count; i++) {
		const struct profile_place *place = &o->profile->places.items[i];

		counts[i] = outlier_is_begin(o, i) ? !outlier_is_dispatch(o, i) : counts[place->parent];
		if (place->is_dispatcher)
			counts[i] = false;
	}
	return counts;
}

/* A wrapped correction of a call that was cut: nothing. */
static double sane(double ns)
{
	return ns < 1e18 ? ns : 0;
}

static double ns_of(const struct time_search *t, const struct profile_cell *cell, enum profile_time time)
{
	return sane(
		(double)flow_span_ns(t->o->s->trace, time == PROFILE_OWN ? profile_cell_own(cell) : cell->ticks[time]));
}

/* The cells are far larger than what the search needs of them, over and over: only times of sessions that count. */
static void fill_table(struct time_search *t, enum profile_time time)
{
	struct time_table *table = &t->tables[time];
	uint32_t places = t->o->profile->places.count;

	table->first = xzalloc(((size_t)places + 1) * sizeof(*table->first));
	for (uint32_t place = 0; place < places; place++) {
		size_t count;
		const struct profile_cell *cell = outlier_cells(t->o, place, &count);

		table->first[place] = table->values.count;
		outlier_will_read(t->o, count * sizeof(*cell));
		/* Waiting for the client counts wherever it is. */
		for (size_t i = 0; i < count && (t->counts[place] || is_client(time)); i++) {
			double ns = ns_of(t, &cell[i], time);

			if (ns > 0)
				spill_push(&table->values, (struct time_value){(float)ns, cell[i].slot});
		}
	}
	table->first[places] = table->values.count;
}

static const struct time_value *values_at(struct time_search *t, uint32_t place, enum profile_time time,
					  size_t *ret_count)
{
	const struct time_table *table = &t->tables[time];

	*ret_count = table->first[place + 1] - table->first[place];
	outlier_will_read(t->o, *ret_count * sizeof(*table->values.items));
	return vec_from(&table->values, table->first[place]);
}

static void add_values(struct time_search *t, uint32_t place, enum profile_time time)
{
	size_t count;
	const struct time_value *value = values_at(t, place, time, &count);

	for (size_t i = 0; i < count; i++)
		t->values[value[i].slot] += (double)value[i].ns;
}

/* Time at the place and, unless only its self time is wanted, below; place 0: of the session. */
static void take_values(struct time_search *t, uint32_t place, enum profile_time time, bool is_self)
{
	const struct profile_place *places = t->o->profile->places.items;
	uint32_t at = place;

	t->place = place;
	memset(t->values, 0, t->o->cells->slots * sizeof(*t->values));
	add_values(t, place, time);
	if (is_self)
		return;
	for (at = places[place].first_child; at && at != place;) {
		add_values(t, at, time);
		if (places[at].first_child) {
			at = places[at].first_child;
			continue;
		}
		while (at != place && !places[at].next)
			at = places[at].parent;
		at = at == place ? place : places[at].next;
	}
}

/* Whether two sessions take long enough to be examined. */
static bool is_worth_it(const struct time_search *t, enum profile_time time)
{
	double least = COUNTS * floor_of(t, time), count = 0;

	for (uint32_t i = 0; i < t->o->cells->slots && count < 2; i++)
		count += t->values[i] >= least ? t->o->weight[i] : 0;
	return count >= 2;
}

/*
 * More requests explain more time, but only in functions where a usual one spends it. Which place they are called from
 * does not matter: a connection's later requests come from another one.
 */
static double allowance_of(const struct time_search *t, uint32_t place, uint32_t slot)
{
	double share = t->usual_share ? t->usual_share[place] : 1;

	return max_of(t->for_requests[slot] * share, t->for_bytes[slot]);
}

static void sort_samples(struct time_search *t, enum profile_time time, bool without_begins)
{
	const struct outliers *o = t->o;

	t->median = median_of(t, t->values);
	t->count = 0;
	for (uint32_t i = 0; i < o->cells->slots; i++) {
		double excess = t->values[i] - t->median - (is_client(time) ? 0 : allowance_of(t, t->place, i));

		if (o->weight[i] && !(without_begins && outlier_set_has(&o->begins, i)))
			t->samples[t->count++] = (struct sample){max_of(excess, 0.0), i};
	}
	qsort(t->samples, t->count, sizeof(*t->samples), largest_first);
}

/* Sessions with a small part of the usual excess of the set are not of it: they lost some time by chance. */
static size_t trimmed(const struct time_search *t, size_t count)
{
	double mean = 0;

	for (size_t i = 0; i < count; i++)
		mean += t->samples[i].excess / (double)count;
	while (count > 2 && t->samples[count - 1].excess < SAME_SHARE * mean)
		count--;
	return count;
}

/*
 * What sessions lose anyway: as much as a quarter of the others, and of the program's own time as much as the longest
 * scheduling delays. Excesses that are not much larger are less rare than their tail suggests. A busy machine holds a
 * thread up in other ways than by a delay, for about as long: it waits for a page, for a lock whose holder has no CPU,
 * or for a process that has none.
 */
static double usual_loss(const struct time_search *t, enum profile_time time, size_t count)
{
	size_t quarter = count + (t->count - min_of(count, t->count)) / 4;
	double loss = quarter < t->count ? t->samples[quarter].excess : 0;

	if (time == PROFILE_CPU)
		return max_of(loss, HICCUP_CPU_NS);
	if (time != PROFILE_OWN || !t->o->cells->delays.is_known)
		return loss;
	return max_of(loss, max_of(delay_noise_longest(&t->noise, NEXT), HICCUP_NS));
}

/*
 * Tail of the excesses at this place, from those after the first `count` (Hill's estimate): with many sessions, the
 * noise itself shows how heavy it is.
 */
static double tail_after(const struct time_search *t, size_t count, enum profile_time time, double loss)
{
	double least = COUNTS * floor_of(t, time), sum = 0, tail = is_client(time) ? TAIL_CLIENT : TAIL_CPU;
	size_t m = 0;

	if (time == PROFILE_OWN)
		tail = !t->o->cells->delays.is_known ? TAIL_NOISY : t->others > 0 ? TAIL_OTHERS : TAIL_OWN;
	while (m < TAIL_SAMPLES && count + m + 1 < t->count && t->samples[count + m + 1].excess >= least)
		m++;
	if (m < TAIL_SAMPLES_LEAST)
		return tail;
	for (size_t i = 0; i < m; i++)
		sum += log((t->samples[count + i].excess + loss) / (t->samples[count + m].excess + loss));
	return min_of(tail, max_of((double)m / max_of(sum, 1e-9), TAIL_LEAST));
}

/* How often an excess of at least this size is expected by chance, from the sessions after the set. */
static double expect(const struct time_search *t, enum profile_time time, size_t count, double excess)
{
	double loss = usual_loss(t, time, count), tail = tail_after(t, count, time, loss);
	double least = COUNTS * floor_of(t, time), more = NEXT_MORE, most = 0;

	for (size_t i = count; i < t->count && i < count + NEXT; i++) {
		more += t->o->weight[t->samples[i].slot];
		most = max_of(most, more * pow((max_of(t->samples[i].excess, least) + loss) / (excess + loss), tail));
	}
	return most;
}

static void keep_longest(double longest[NEXT], double ns)
{
	for (size_t i = 0; i < NEXT; i++)
		if (ns > longest[i]) {
			double shorter = longest[i];

			longest[i] = ns;
			ns = shorter;
		}
}

/*
 * Scheduling delay at the other end of a wait: another process may have several per reply, since it wakes up for the
 * request, starts a thread, is preempted. They are taken to be as long as those of this program, and of the recorder:
 * a program whose threads do not use sockets has no delays. Long ones are rare.
 */
static double delays_of_others(const struct time_search *t)
{
	const struct flow_trace *trace = t->o->s->trace;
	double longest[NEXT] = {}, sum = 0;

	for (size_t i = 1; i <= NEXT; i++)
		keep_longest(longest, delay_noise_longest(&t->noise, i));
	for (size_t i = 0; i < trace->late_count; i++)
		keep_longest(longest,
			     (double)flow_span_ns(trace, trace->late[i].awake_ticks - trace->late[i].due_ticks));
	for (size_t i = 0; i < NEXT; i++)
		sum += longest[i];
	return sum;
}

/*
 * Own time beyond CPU time, which is compared separately, and beyond scheduling delay: the thread waited for another
 * process or thread, or a timer.
 */
static bool waits_for_others(const struct time_search *t, enum profile_time time)
{
	return time == PROFILE_OWN && (t->others > 0 || t->o->cells->delays.has_cpu);
}

/* So many sessions, the last with this excess, by chance. */
static double set_chance(const struct time_search *t, enum profile_time time, double k, size_t count, double excess)
{
	double next = count < t->count ? t->samples[count].excess : 0;

	if (excess < GAP * max_of(next, COUNTS * floor_of(t, time)))
		return 1;
	/* More than half of those that wait for another process are the usual case: others do not show how long it may
	 * take. */
	if (t->others > 0 && k * 2 > t->others && excess < ALONE_NS)
		return 1;
	if (waits_for_others(t, time) && excess < min_of(t->others_delay, SLICES_NS))
		return 1;
	/* As many recorded scheduling delays are at least as long. */
	if (time == PROFILE_OWN && delay_noise_count(&t->noise, excess) >= k)
		return 1;
	return compare_set_chance(k, expect(t, time, count, excess)) * t->tests[t->family];
}

/* The k that is least likely by chance. */
static double least_chance(const struct time_search *t, enum profile_time time, size_t *ret_count)
{
	const struct outliers *o = t->o;
	double best = 1, k = 0;

	*ret_count = 0;
	for (size_t i = 0; i < t->count && t->samples[i].excess >= floor_of(t, time); i++) {
		double chance;

		k += o->weight[t->samples[i].slot];
		if (k < 2)
			continue;
		if (k > OUTLIER_SHARE * o->all)
			break;
		chance = set_chance(t, time, k, i + 1, t->samples[i].excess);
		if (chance < best) {
			best = chance;
			*ret_count = i + 1;
		}
	}
	*ret_count = trimmed(t, *ret_count);
	return best;
}

/* --- what explains an excess --- */

static struct outlier_set set_of(const struct time_search *t, size_t count)
{
	struct outlier_set set = {};

	for (size_t i = 0; i < count; i++)
		outlier_set_add(&set, t->samples[i].slot);
	return set;
}

/* Probability that `count` of all sessions are among the first `before`. */
static double early_chance(uint32_t before, uint32_t count, uint32_t all)
{
	return compare_chance(count, before, 0, all - before);
}

/*
 * The first sessions of the recording run with cold caches, but not all of them are as slow as those that stand out. So
 * the set is extended by the next largest excesses, one by one: at some size it is too early to be so by chance.
 */
static bool is_warm_up(const struct time_search *t, size_t count)
{
	const struct outliers *o = t->o;
	_cleanup_free_ uint32_t *before = xzalloc((o->cells->slots + 1) * sizeof(*before));
	uint32_t all = 0, last = 0;
	double mean = 0;

	for (uint32_t i = 0; i < o->cells->slots; i++)
		before[i] = all += o->weight[i] > 0;
	for (size_t i = 0; i < count; i++) {
		last = max_of(last, before[t->samples[i].slot]);
		mean += t->samples[i].excess / (double)count;
	}
	if (last <= count + 1)
		return true;
	for (size_t i = count; last <= BEGIN_SHARE * all; i++) {
		if (early_chance(last, (uint32_t)i, all) < BEGIN_CHANCE)
			return true;
		if (i == t->count || t->samples[i].excess < SAME_SHARE * mean)
			break;
		last = max_of(last, before[t->samples[i].slot]);
	}
	return false;
}

static bool begins_take_longer(const struct outliers *o, const struct outlier_set *few)
{
	return o->begins.count <= BEGINS_SHARE * o->cells->slots && o->begins.count &&
	       outlier_set_common(few, &o->begins) * 2 > o->begins.count;
}

/* Probability that this number of the interruptions that also hit other places hit this one. */
static double chance_of_losses(const struct time_search *t, uint32_t place, const struct outlier_set *few, double least)
{
	const struct outliers *o = t->o;
	double here = max_of(t->spent[place], (outlier_is_begin(o, place) ? BEGIN_SPENT : LEAST_SPENT) * t->all_spent);
	double elsewhere = max_of(t->all_spent - t->spent[place], LEAST_SPENT * t->all_spent);
	double others = 0;

	vec_each(&t->losses, loss)
		if (loss->place != place && loss->excess >= AS_LARGE * least && !outlier_set_has(few, loss->slot) &&
		    !o->cells->is_upstream[loss->place])
			others += o->weight[loss->slot];
	return others > 0 ? compare_many_chance(few->count, others * here / elsewhere) * t->tests[FAMILY_OWN] : 0;
}

/*
 * Another process waits for a CPU as long as this one. Where many sessions wait for it, they show how long that is;
 * where few do, the delays of the program's own threads have to.
 */
static double sessions_with_others(const struct outliers *o, uint32_t place)
{
	size_t count;
	const struct profile_cell *cell = outlier_cells(o, place, &count);
	double others = 0;

	for (size_t i = 0; i < count && o->cells->is_upstream[place]; i++)
		others += cell[i].has_others ? o->weight[cell[i].slot] : 0;
	return others;
}

/*
 * Not faults but a kind of request: many sessions that compute for about as long. Those that wait for as long may have
 * run into the same timeout.
 */
static bool is_kind(struct time_search *t, uint32_t place, const struct outlier_set *few, double excess)
{
	double least = INFINITY, most = 0, sum = 0, usual;

	if (few->count < KIND_LEAST || !t->o->cells->delays.has_cpu)
		return false;
	take_values(t, place, PROFILE_CPU, false);
	usual = median_of(t, t->values);
	for (uint32_t i = 0; i < t->o->cells->slots; i++) {
		if (!outlier_set_has(few, i))
			continue;
		least = min_of(least, t->values[i] - usual);
		most = max_of(most, t->values[i] - usual);
		sum += (t->values[i] - usual) * t->o->weight[i];
	}
	return sum >= MOST * excess && most <= KIND_SPREAD * least;
}

/*
 * Only they come to this place: they make a request that no other session makes, and what that usually takes is not
 * known. If they compute there for a few times as long as a usual session in all, it may be what such a request takes;
 * if they wait there for a short time, for a disk or for each other's lock, likewise.
 */
static bool is_rare_kind(struct time_search *t, const struct outlier_mark *mark)
{
	size_t count;
	const struct profile_cell *cell = outlier_cells(t->o, mark->place, &count);
	double computed = 0, usual;

	if (!mark->place || is_client(mark->time) || !t->o->cells->delays.has_cpu)
		return false;
	for (size_t i = 0; i < count; i++)
		if (cell[i].calls && t->o->weight[cell[i].slot] && !outlier_set_has(&mark->few, cell[i].slot))
			return false;
	take_values(t, mark->place, PROFILE_CPU, false);
	for (uint32_t i = 0; i < t->o->cells->slots; i++)
		computed += outlier_set_has(&mark->few, i) ? t->values[i] * t->o->weight[i] : 0;
	take_values(t, 0, PROFILE_CPU, false);
	usual = median_of(t, t->values);
	return computed >= MOST * mark->excess ? computed <= RARE_FACTOR * usual * mark->few.count
					       : mark->excess < SLICES_NS * mark->few.count;
}

/* --- a place --- */

static bool test_place(struct time_search *t, uint32_t place, enum profile_time time, struct outlier_mark *ret_mark)
{
	struct outlier_set few;
	double chance, least;
	size_t count;

	/* A hand-over wakes another thread, and may lose its CPU, or a lock, to it. */
	if (time == PROFILE_OWN && t->o->cells->is_push[place])
		return false;
	take_values(t, place, time, false);
	if (!is_worth_it(t, time))
		return false;
	t->family = family_of(t, place, time);
	t->others = time == PROFILE_OWN ? sessions_with_others(t->o, place) : 0;
	sort_samples(t, time, false);
	chance = least_chance(t, time, &count);
	if (!count || chance > CHANCE)
		return false;
	few = set_of(t, count);
	if (!is_client(time) && begins_take_longer(t->o, &few)) {
		sort_samples(t, time, true);
		chance = least_chance(t, time, &count);
		if (!count || chance > CHANCE)
			return false;
		few = set_of(t, count);
	}
	least = t->samples[count - 1].excess;
	if (!is_client(time) && is_warm_up(t, count))
		return false;
	if (time == PROFILE_OWN && place && !t->o->profile->places.items[place].first_child)
		chance = max_of(chance, chance_of_losses(t, place, &few, least));
	if (chance > CHANCE)
		return false;
	*ret_mark = (struct outlier_mark){.few = few,
					  .place = place,
					  .kind = DIVERGENCE_SLOWER,
					  .time = time,
					  .good_ns = t->median,
					  .chance = chance};
	for (size_t i = 0; i < count; i++)
		ret_mark->excess += t->samples[i].excess * t->o->weight[t->samples[i].slot];
	ret_mark->bad_ns = t->median + ret_mark->excess / few.count;
	return is_client(time) || !is_kind(t, place, &few, ret_mark->excess);
}

/* --- what is known before --- */

static double second_largest(const struct time_search *t)
{
	double k = 0;

	for (size_t i = 0; i < t->count; i++) {
		k += t->o->weight[t->samples[i].slot];
		if (k >= 2)
			return t->samples[i].excess;
	}
	return 0;
}

/* Own time of a session per unit of its work, up to `most`: nanoseconds that more units explain. */
static void allow(struct time_search *t, const double *own, const double *work, double most, double *ret_allowance)
{
	const struct outliers *o = t->o;
	_cleanup_free_ double *rates = xzalloc((o->cells->slots + 1) * sizeof(*rates));
	double usual = median_of(t, work), rate;

	for (uint32_t i = 0; i < o->cells->slots; i++)
		rates[i] = own[i] / max_of(work[i], 1.0);
	rate = min_of(median_of(t, rates), most);
	for (uint32_t i = 0; i < o->cells->slots; i++)
		ret_allowance[i] = rate * max_of(work[i] - usual, 0.0);
}

/* Median self time of each function per session, summed up over the places below; as a share of the whole. */
static void know_shares(struct time_search *t)
{
	const struct outliers *o = t->o;
	size_t n = o->profile->places.count, fns = o->s->trace->function_count;
	_cleanup_free_ uint32_t *first = xzalloc((fns + 1) * sizeof(*first)), *next = xzalloc((n + 1) * sizeof(*next));
	double *share = xzalloc((n + 1) * sizeof(*share)), all = 0;

	for (uint32_t place = 1; place < n; place++) {
		uint32_t fn = o->profile->places.items[place].fn;

		next[place] = first[fn];
		first[fn] = place;
	}
	for (size_t fn = 0; fn < fns; fn++) {
		double usual;

		memset(t->values, 0, o->cells->slots * sizeof(*t->values));
		for (uint32_t place = first[fn]; place; place = next[place])
			add_values(t, place, PROFILE_OWN);
		usual = first[fn] ? median_of(t, t->values) : 0;
		all += usual;
		for (uint32_t place = first[fn]; place; place = next[place])
			share[place] = usual;
	}
	for (size_t place = n; place-- > 1;)
		share[o->profile->places.items[place].parent] += share[place];
	for (size_t place = 0; place < n; place++)
		share[place] = all > 0 ? min_of(share[place] / all, 1.0) : 1;
	t->usual_share = share;
}

/*
 * Pipelined requests that came in one read count as one. If they wait for another process, the replies show how many
 * there were: that many writes, and that many times the usual size. Neither alone is enough: a proxy forwards one reply
 * in pieces, and a file may be large.
 */
static void know_requests(struct time_search *t, double *ret_requests)
{
	const struct outliers *o = t->o;
	uint32_t slots = o->cells->slots;
	_cleanup_free_ double *bytes = xzalloc((slots + 1) * sizeof(*bytes));
	double usual;

	for (uint32_t i = 0; i < slots; i++) {
		const struct flow_row *row = &o->s->list.items[o->cells->session_of[i]];

		outlier_will_read(t->o, OUTLIER_ALONE);
		ret_requests[i] = row->requests;
		bytes[i] = (double)row->tx_bytes / max_of((double)row->requests, 1.0);
	}
	usual = max_of(median_of(t, bytes), 1.0);
	for (uint32_t i = 0; i < slots; i++) {
		double requests = max_of(ret_requests[i], 1.0);

		ret_requests[i] = max_of(ret_requests[i],
					 min_of((double)o->cells->answers[i], round(requests * bytes[i] / usual)));
	}
}

static void know_allowance(struct time_search *t)
{
	const struct outliers *o = t->o;
	uint32_t slots = o->cells->slots;
	_cleanup_free_ double *own = xzalloc((slots + 1) * sizeof(*own)), *work = xzalloc((slots + 1) * sizeof(*work));

	take_values(t, 0, PROFILE_CPU, false);
	t->usual[PROFILE_CPU] = median_of(t, t->values);
	take_values(t, 0, PROFILE_OWN, false);
	t->usual[PROFILE_OWN] = median_of(t, t->values);
	memcpy(own, t->values, slots * sizeof(*own));
	know_requests(t, work);
	allow(t, own, work, INFINITY, t->for_requests);
	for (uint32_t i = 0; i < slots; i++) {
		const struct flow_row *row = &o->s->list.items[o->cells->session_of[i]];

		outlier_will_read(t->o, OUTLIER_ALONE);
		work[i] = (double)row->tx_bytes + (double)row->rx_bytes;
	}
	allow(t, own, work, BYTE_NS, t->for_bytes);
	know_shares(t);
	t->noise = delay_noise_of(o->cells->delays.all.items, o->cells->delays.all.count);
	t->others_delay = delays_of_others(t);
}

/* The excess of two sessions, as a whole, that would be found. */
static double seen_of(struct time_search *t, enum profile_time time)
{
	double seen = floor_of(t, time);

	take_values(t, 0, time, false);
	sort_samples(t, time, false);
	t->family = family_of(t, 0, time);
	t->others = 0;
	while (seen < SEEN_MOST && set_chance(t, time, 2, min_of(t->count, (size_t)2), seen) > CHANCE)
		seen *= SEEN_STEP;
	return seen;
}

/* Time per place, excesses, and the number of places where sessions differ at all. */
static void know_places(struct time_search *t)
{
	const struct outliers *o = t->o;

	t->spent = xzalloc((o->profile->places.count + 1) * sizeof(*t->spent));
	for (uint32_t place = 1; place < o->profile->places.count; place++) {
		size_t cells;

		(void)outlier_cells(o, place, &cells);
		for (unsigned time = 0; time < PROFILE_TIMES && cells; time++) {
			take_values(t, place, time, true);
			t->o->looked_at += time == PROFILE_OWN && t->counts[place];
			t->median = 0;
			if (time == PROFILE_OWN)
				t->spent[place] = median_of(t, t->values) * o->all;
			t->all_spent += time == PROFILE_OWN ? t->spent[place] : 0;
			if (!is_worth_it(t, time))
				continue;
			sort_samples(t, time, false);
			t->tests[family_of(t, place, time)] += second_largest(t) >= COUNTS * floor_of(t, time);
			if (time != PROFILE_OWN)
				continue;
			for (size_t i = 0; i < t->count && t->samples[i].excess >= COUNTS * OWN_NS; i++)
				spill_push(&t->losses, (struct loss){t->samples[i].excess, place, t->samples[i].slot});
		}
	}
	for (unsigned i = 0; i < FAMILIES; i++)
		t->tests[i] = max_of(t->tests[i], 1.0);
	for (unsigned time = 0; time < PROFILE_TIMES; time++) {
		double seen = seen_of(t, time);

		if (time == PROFILE_CPU)
			t->o->seen_cpu_ns = seen;
		else if (time == PROFILE_OWN)
			t->o->seen_own_ns = seen;
		else
			t->o->seen_client_ns = max_of(seen, t->o->seen_client_ns);
	}
}

/* --- from the sessions to the function --- */

/* Mean difference of the sessions from the rest, place by place, with callees. The caller frees it. */
static double *differences(struct time_search *t, const struct outlier_mark *mark)
{
	const struct outliers *o = t->o;
	size_t n = o->profile->places.count;
	double *difference = xzalloc((n + 1) * sizeof(*difference)), few = 0;

	for (uint32_t i = 0; i < o->cells->slots; i++)
		few += outlier_set_has(&mark->few, i) ? o->weight[i] : 0;
	for (uint32_t place = 1; place < n; place++) {
		size_t count;
		const struct time_value *value = values_at(t, place, mark->time, &count);

		for (size_t i = 0; i < count; i++) {
			double ns = (double)value[i].ns * o->weight[value[i].slot];

			difference[place] += outlier_set_has(&mark->few, value[i].slot)
						     ? ns / max_of(few, 1.0)
						     : -ns / max_of(o->all - few, 1.0);
		}
	}
	for (size_t i = n; i-- > 1;)
		difference[o->profile->places.items[i].parent] += difference[i];
	return difference;
}

/* The innermost place with most of the excess, from this one on. */
static uint32_t follow(const struct outliers *o, uint32_t place, const double *difference)
{
	const struct profile_place *places = o->profile->places.items;

	for (;;) {
		uint32_t best = 0;

		for (uint32_t at = places[place].first_child; at; at = places[at].next)
			if (!best || difference[at] > difference[best])
				best = at;
		if (!best || difference[best] <= 0)
			return place;
		if (difference[best] < MOST * difference[place] && place && !places[place].is_dispatcher)
			return place;
		place = best;
	}
}

/* Whether the sessions that were found at an outer place are also the first here: no search, so one test. */
static bool confirms(struct time_search *t, uint32_t place, const struct outlier_mark *mark)
{
	size_t count = mark->few.count;
	double k = 0;

	take_values(t, place, mark->time, false);
	t->family = family_of(t, place, mark->time);
	t->others = mark->time == PROFILE_OWN ? sessions_with_others(t->o, place) : 0;
	sort_samples(t, mark->time, false);
	for (size_t i = 0; i < count; i++) {
		if (!outlier_set_has(&mark->few, t->samples[i].slot))
			return false;
		k += t->o->weight[t->samples[i].slot];
	}
	return set_chance(t, mark->time, k, count, t->samples[count - 1].excess) <= CHANCE * t->tests[t->family];
}

/*
 * The set is nearly as unlikely by chance, and its sessions that do not stand out there lose a fair part of what the
 * others do at other places.
 */
static bool lose_elsewhere(const struct outlier_mark *set, const struct outlier_mark *there)
{
	double rest = set->excess - there->excess, others = set->few.count - there->few.count;

	return log(set->chance) <= ELSEWHERE_SURE * log(there->chance) &&
	       rest / others >= ELSEWHERE_SHARE * set->excess / set->few.count;
}

/*
 * Inwards to the place that has the time. The sessions are those that also stand out there; if they do not, because
 * another process may have been slow, no function is named.
 */
static bool lead_inwards(struct time_search *t, struct outlier_mark *mark)
{
	_cleanup_free_ double *difference = differences(t, mark);
	uint32_t place = follow(t->o, mark->place, difference);
	struct outlier_mark there;

	if (place == mark->place)
		return place;
	if (place && test_place(t, place, mark->time, &there)) {
		struct outlier_set outer = mark->few;
		bool is_part =
			there.few.count < outer.count && outlier_set_common(&there.few, &outer) == there.few.count;

		/* Time between two calls counts where the session was before: that need not be the same for all.
		 * Computation counts where it is. */
		if (is_part && mark->time != PROFILE_CPU &&
		    (mark->chance < there.chance || lose_elsewhere(mark, &there)))
			there.few = outer;
		*mark = there;
		return true;
	}
	mark->place = place;
	return place && !t->o->cells->is_push[place] && (!t->o->cells->is_upstream[place] || confirms(t, place, mark));
}

/*
 * The same sessions by their CPU time, if that stands out too: no delay adds to it, and those that wait for a session
 * which computes do not compute.
 */
static struct outlier_mark *by_cpu(struct time_search *t, struct outlier_mark *own)
{
	struct outlier_mark *best = NULL;

	vec_each(&t->o->marks, mark)
		if (mark->time == PROFILE_CPU && (!best || mark->excess > best->excess) &&
		    mark->excess / mark->few.count >= CPU_SHARE * own->excess / own->few.count &&
		    outlier_set_common(&mark->few, &own->few) * 2 >= min_of(mark->few.count, own->few.count))
			best = mark;
	return best ? best : own;
}

/* Largest total excess. */
static const struct outlier_mark *choose(struct time_search *t)
{
	for (;;) {
		struct outlier_mark *best = NULL;

		vec_each(&t->o->marks, mark)
			if (mark->excess > 0 && (!best || mark->excess > best->excess))
				best = mark;
		if (best && best->time == PROFILE_OWN)
			best = by_cpu(t, best);
		if (!best || (lead_inwards(t, best) && !is_rare_kind(t, best)))
			return best;
		best->excess = 0;
	}
}

const struct outlier_mark *outlier_find_time(struct outliers *o)
{
	uint32_t slots = o->cells->slots;
	_cleanup_free_ bool *counts = places_that_count(o);
	_cleanup_free_ double *values = xzalloc((slots + 1) * sizeof(*values)),
			      *for_requests = xzalloc((slots + 1) * sizeof(*for_requests)),
			      *for_bytes = xzalloc((slots + 1) * sizeof(*for_bytes)),
			      *room = xzalloc((slots + 1) * sizeof(*room));
	_cleanup_free_ struct sample *samples = xzalloc((slots + 1) * sizeof(*samples));
	struct time_search t = {
		.o = o,
		.counts = counts,
		.values = values,
		.for_requests = for_requests,
		.for_bytes = for_bytes,
		.samples = samples,
		.room = room,
	};
	const struct outlier_mark *best;

	for (unsigned time = 0; time < PROFILE_TIMES; time++)
		fill_table(&t, time);
	know_allowance(&t);
	know_places(&t);
	for (uint32_t place = 0; place < o->profile->places.count; place++)
		for (unsigned time = 0; time < PROFILE_TIMES; time++) {
			struct outlier_mark mark;

			if (test_place(&t, place, time, &mark))
				vec_push(&o->marks, mark);
		}
	best = choose(&t);
	free(t.spent);
	free(t.usual_share);
	spill_done(&t.losses);
	for (unsigned time = 0; time < PROFILE_TIMES; time++) {
		spill_done(&t.tables[time].values);
		free(t.tables[time].first);
	}
	return best;
}
