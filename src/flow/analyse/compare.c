/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "flow/analyse/compare.h"
#include "flow/analyse/function_match.h"

/* A place separates the groups when at least this share of one and at most the rest of the other passes it. */
#define SEPARATE 0.9
/* Majority of the additional time: the search descends into a call with this share of it. */
#define MOST 0.6
/* Other places with at least this share are also reported. */
#define ALSO 0.2
/* False alarm rate over all tested places. */
#define CHANCE 0.02
/* Times vary more than calls, especially on a busy machine. */
#define TIME_CHANCE 0.002
/* Minimum probability that a bad session is slower than a good one. */
#define SURE 0.8
/* The same between two traces. */
#define TRACES_SURE 0.9
/* A function with this many callers says little about its calling context. */
#define COMMON_CALLERS 3
#define OTHERS_MAX     20
/* Minimum slowdown of the function for its other callers, relative to that of one. */
#define ALSO_SLOWER 0.7

static const struct enum_name kind_names[] = {
	{DIVERGENCE_SLOWER, "slower", "bad sessions take longer in the function"},
	{DIVERGENCE_EXTRA, "extra", "bad sessions make a call that good ones do not"},
	{DIVERGENCE_MISSING, "missing", "good sessions make a call that bad ones do not"},
};
static struct enum_names divergence_kind_names = {.items = kind_names, .count = ARRAY_SIZE(kind_names)};

static const struct field frame_fields[] = {FIELD(struct divergence_frame, function, TEXT, "function")};
static RECORD_TYPE(frame_type, "flow_frame", struct divergence_frame, frame_fields, "a function of a call path",
		   .bare = true);

static const struct field divergence_fields[] = {
	FIELD(struct divergence, function, TEXT, "function where the sessions diverge"),
	FIELD(struct divergence, kind, ENUM, "how", .names = &divergence_kind_names),
	FIELD(struct divergence, ratio, RATIO, "ratio of bad to good time"),
	FIELD(struct divergence, good, RATIO,
	      "good sessions: nanoseconds per session (slower), or sessions with the call", .hidden = true),
	FIELD(struct divergence, bad, RATIO, "bad sessions: the same", .hidden = true),
	FIELD(struct divergence, good_sessions, COUNT, "good sessions with the call"),
	FIELD(struct divergence, bad_sessions, COUNT, "bad sessions with the call"),
	FIELD(struct divergence, good_ns, DURATION, "mean time of a good session in the call", .heading = "good_time"),
	FIELD(struct divergence, bad_ns, DURATION, "mean time of a bad session in the call", .heading = "bad_time"),
	FIELD(struct divergence, good_call_ns, DURATION,
	      "self time of a call in good sessions (lower quartile), if it differs", .zero_is_unknown = true,
	      .hidden = true),
	FIELD(struct divergence, bad_call_ns, DURATION, "the same in bad sessions", .zero_is_unknown = true,
	      .hidden = true),
	FIELD(struct divergence, good_calls, RATIO, "calls per good session, if their number differs",
	      .zero_is_unknown = true, .hidden = true),
	FIELD(struct divergence, bad_calls, RATIO, "calls per bad session, if their number differs",
	      .zero_is_unknown = true, .hidden = true),
	FIELD(struct divergence, confidence, RATIO, "confidence that the difference is not chance", .hidden = true),
	FIELD(struct divergence, waits_in, TEXT, "innermost function with the additional time"),
	FIELD(struct divergence, instead, TEXT, "function called by good sessions instead", .hidden = true),
	FIELD(struct divergence, module, TEXT, "program or library of the function", .hidden = true),
	FIELD(struct divergence, path, LIST, "call path, outermost function first", .element = &frame_type,
	      .hidden = true),
};
RECORD_TYPE(divergence_type, "flow_divergence", struct divergence, divergence_fields,
	    "a difference between two groups of sessions");

static const struct field group_fields[] = {
	FIELD(struct compared_group, name, TEXT, "good or bad"),
	FIELD(struct compared_group, sessions, COUNT, "number of sessions"),
	FIELD(struct compared_group, median_ns, DURATION, "median duration of the sessions"),
};
static RECORD_TYPE(group_type, "flow_group", struct compared_group, group_fields, "a compared group of sessions");

static const struct field comparison_fields[] = {
	FIELD(struct comparison, answer, TEXT, "result in one sentence"),
	FIELD(struct comparison, groups, LIST, "compared groups", .element = &group_type),
	FIELD(struct comparison, how, TEXT, "how the bad group was found, if not given"),
	FIELD(struct comparison, divergence, LIST, "main difference", .element = &divergence_type, .single = true),
	FIELD(struct comparison, others, LIST, "other differences", .element = &divergence_type),
};
RECORD_TYPE(comparison_type, "flow_comparison", struct comparison, comparison_fields,
	    "two groups of sessions compared");

/* --- figures of a place --- */

static double mean_ns(const struct comparison *c, uint32_t place, unsigned group)
{
	uint32_t sessions = c->group[group].sessions;

	return sessions ? (double)c->sums.ticks[group][place] / sessions : 0;
}

static double excess_ns(const struct comparison *c, uint32_t place)
{
	return mean_ns(c, place, 1) - mean_ns(c, place, 0);
}

struct presence {
	uint32_t good, bad;         /* sessions that pass the place */
	uint32_t all_good, all_bad; /* sessions that pass its caller */
	double good_share, bad_share;
};

static struct presence presence_of(const struct comparison *c, uint32_t place)
{
	uint32_t parent = c->profile->places.items[place].parent;
	/* Dispatchers serve all sessions; otherwise only sessions that reach the caller count. */
	bool all = !parent || c->profile->places.items[parent].is_dispatcher;
	struct presence p = {
		.good = profile_seen(c->profile, place, 0),
		.bad = profile_seen(c->profile, place, 1),
		.all_good = all ? c->profile->looked_at[0] : profile_seen(c->profile, parent, 0),
		.all_bad = all ? c->profile->looked_at[1] : profile_seen(c->profile, parent, 1),
	};

	p.good_share = p.all_good ? (double)p.good / p.all_good : 0;
	p.bad_share = p.all_bad ? (double)p.bad / p.all_bad : 0;
	return p;
}

static void add_path(const struct comparison *c, struct divergence *d)
{
	uint32_t depth = c->profile->places.items[d->place].depth, at = d->place;
	struct divergence_frame *frames = xrealloc_array(NULL, max_of(depth, 1u), sizeof(*frames));

	for (uint32_t i = depth; i-- > 0; at = c->profile->places.items[at].parent)
		frames[i].function = compare_function(c, at)->name;
	d->path = (struct list){frames, depth};
}

static void add_divergence(struct comparison *c, enum divergence_kind kind, uint32_t place, double confidence)
{
	struct presence p = presence_of(c, place);
	struct divergence *d = vec_add(&c->all);
	double good = mean_ns(c, place, 0), bad = mean_ns(c, place, 1);

	*d = (struct divergence){
		.function = compare_function(c, place)->name,
		.module = c->modules[c->profile->places.items[place].fn]->name,
		.kind = (uint8_t)kind,
		.ratio = good >= 1 ? bad / good : NAN,
		.good = kind == DIVERGENCE_SLOWER ? good : p.good,
		.bad = kind == DIVERGENCE_SLOWER ? bad : p.bad,
		.good_ns = (uint64_t)good,
		.bad_ns = (uint64_t)bad,
		.good_sessions = p.good,
		.bad_sessions = p.bad,
		.confidence = confidence,
		.place = place,
	};
	add_path(c, d);
}

/* --- structure --- */

struct structure {
	struct comparison *c;
	const struct map *noise; /* known noise, for groups too small for statistics */
	uint32_t tests;
};

/* 1 minus the probability of chance; 0 when it does not separate the groups. */
static double separates(const struct structure *s, uint32_t place, enum divergence_kind *ret_kind)
{
	const struct profile_place *at = &s->c->profile->places.items[place];
	struct presence p = presence_of(s->c, place);
	bool extra = p.bad_share >= SEPARATE && p.good_share <= 1 - SEPARATE;
	bool missing = p.good_share >= SEPARATE && p.bad_share <= 1 - SEPARATE;
	uint64_t edge = (uint64_t)s->c->profile->places.items[at->parent].fn << 32 | at->fn;
	double chance;

	if (!extra && !missing)
		return 0;
	*ret_kind = extra ? DIVERGENCE_EXTRA : DIVERGENCE_MISSING;
	chance = extra ? compare_chance(p.bad, p.all_bad, p.good, p.all_good)
		       : compare_chance(p.good, p.all_good, p.bad, p.all_bad);
	chance = min_of(chance * s->tests, 1.0);
	if (chance <= CHANCE)
		return 1 - chance;
	/* With few sessions nothing is significant; then known noise is excluded. */
	if (min_of(s->c->profile->looked_at[0], s->c->profile->looked_at[1]) > 3 || !p.all_good || !p.all_bad ||
	    (s->noise && map_get(s->noise, &edge)))
		return 0;
	return max_of(1 - chance, 0.5);
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

/*
 * From the bottom up to the first place on each call path that tells the groups apart; what is above follows from it.
 */
static void find_structure(struct structure *s)
{
	const struct profile *profile = s->c->profile;
	uint32_t at = profile->places.items[0].first_child;

	for (uint32_t i = 1; i < profile->places.count; i++) {
		struct presence p = presence_of(s->c, i);

		s->tests += p.all_good && p.all_bad;
	}
	while (at) {
		enum divergence_kind kind;
		double confidence = separates(s, at, &kind);

		if (confidence > 0) {
			add_divergence(s->c, kind, at, confidence);
			if (kind == DIVERGENCE_EXTRA)
				s->c->all.items[s->c->all.count - 1].instead = instead_of(s, at, kind);
		} else if (profile->places.items[at].first_child) {
			at = profile->places.items[at].first_child;
			continue;
		}
		while (at && !profile->places.items[at].next)
			at = profile->places.items[at].parent;
		at = at ? profile->places.items[at].next : 0;
	}
}

static void put_first(struct comparison *c, size_t index)
{
	struct divergence first = c->all.items[index];

	memmove(c->all.items + 1, c->all.items, index * sizeof(first));
	c->all.items[0] = first;
}

/* An extra call says more than a missing one. */
static void put_extra_first(struct comparison *c)
{
	const struct profile_place *places = c->profile->places.items;

	for (size_t i = 1; i < c->all.count && c->all.items[0].kind == DIVERGENCE_MISSING; i++)
		if (c->all.items[i].kind == DIVERGENCE_EXTRA &&
		    places[c->all.items[i].place].parent == places[c->all.items[0].place].parent)
			put_first(c, i);
}

/* --- time --- */

static uint32_t largest_child(const struct comparison *c, uint32_t place)
{
	uint32_t best = 0;

	for (uint32_t at = c->profile->places.items[place].first_child; at; at = c->profile->places.items[at].next)
		if (!best || excess_ns(c, at) > excess_ns(c, best))
			best = at;
	return best;
}

/* The innermost place with most of the additional time. */
static uint32_t follow_time(const struct comparison *c, uint32_t place)
{
	for (;;) {
		uint32_t next = largest_child(c, place);

		/* The largest among root functions and dispatchers. */
		if (!next || (excess_ns(c, next) < MOST * excess_ns(c, place) && !(!place && excess_ns(c, next) > 0) &&
			      !(c->profile->places.items[place].is_dispatcher && excess_ns(c, next) > 0)))
			return place;
		place = next;
	}
}

static uint32_t caller_count(const struct comparison *c, uint32_t fn)
{
	struct map callers = MAP_INIT(sizeof(uint32_t), 1, 0);
	uint32_t count;

	for (size_t i = 1; i < c->profile->places.count; i++)
		if (c->profile->places.items[i].fn == fn)
			(void)map_put(&callers, &c->profile->places.items[c->profile->places.items[i].parent].fn, NULL);
	count = (uint32_t)callers.count;
	map_done(&callers);
	return count;
}

/* Moves from a function with many callers out to its caller. */
static uint32_t specific_place(const struct comparison *c, uint32_t place)
{
	for (;;) {
		uint32_t parent = c->profile->places.items[place].parent;

		if (!parent || c->profile->places.items[parent].is_dispatcher ||
		    caller_count(c, c->profile->places.items[place].fn) < COMMON_CALLERS)
			return place;
		place = parent;
	}
}

/* How much longer bad sessions take as a whole. */
struct slowness {
	double sure;  /* probability that a bad session takes longer than a good one */
	double least; /* shortest bad over longest good */
	double medians;
};

static uint64_t time_of(const struct flow_sessions *s, size_t index)
{
	return flow_span_ns(s->trace, s->list.items[index].busy_ticks + s->list.items[index].wait_ticks);
}

static struct slowness slowness_of(const struct flow_sessions *good, const uint8_t *good_group,
				   const struct flow_sessions *bad, const uint8_t *bad_group)
{
	SPILL(uint64_t) a = {}, b = {};
	struct slowness result = {};

	for (size_t i = 0; i < good->list.count; i++) {
		if (good_group[i] == 0)
			spill_push(&a, time_of(good, i));
		spill_trim_at(i);
	}
	for (size_t i = 0; i < bad->list.count; i++) {
		if (bad_group[i] == 1)
			spill_push(&b, time_of(bad, i));
		spill_trim_at(i);
	}
	result.sure = compare_superiority(a.items, a.count, b.items, b.count);
	/* Both are sorted now. */
	if (a.count && b.count) {
		result.least = (double)b.items[0] / (double)max_of(a.items[a.count - 1], (uint64_t)1);
		result.medians = (double)b.items[b.count / 2] / (double)max_of(a.items[a.count / 2], (uint64_t)1);
	}
	spill_done(&a);
	spill_done(&b);
	return result;
}

/* The outermost separating place of the call path; 0: none. */
static uint32_t first_extra(const struct comparison *c, uint32_t place)
{
	uint32_t found = 0;

	for (uint32_t at = place; at; at = c->profile->places.items[at].parent)
		for (size_t i = 0; i < c->all.count; i++)
			if (c->all.items[i].place == at && c->all.items[i].kind == DIVERGENCE_EXTRA)
				found = at;
	return found;
}

static size_t index_of(const struct comparison *c, uint32_t place)
{
	size_t i = 0;

	while (i < c->all.count && c->all.items[i].place != place)
		i++;
	return i;
}

/*
 * Follows the additional time of bad sessions to a place. If they get there by a call that good ones do not make, the
 * common caller is slower because of that call, unless it is a dispatcher.
 */
static bool find_time(struct comparison *c, const struct compare_options *options, const struct slowness *slowness)
{
	double sure = slowness->sure;
	double factor = options->ratio > 0 ? options->ratio : 2;
	double least = options->min_ns ? (double)options->min_ns : 1e6;
	uint32_t inner, extra, place;
	uint32_t good = c->group[0].sessions, bad = c->group[1].sessions;
	const char *waits_in;

	/* With few sessions nothing is significant; with more, it must not be chance, unless all took far longer. */
	if (min_of(good, bad) > 3 && compare_rank_chance(sure, good, bad) > TIME_CHANCE && slowness->least < factor)
		return false;
	if (sure < SURE || excess_ns(c, 0) < least || mean_ns(c, 0, 1) < factor * mean_ns(c, 0, 0))
		return false;
	inner = follow_time(c, 0);
	waits_in = inner ? compare_function(c, inner)->name : NULL;
	extra = first_extra(c, inner);
	place = extra ? c->profile->places.items[extra].parent : specific_place(c, inner);
	if (!inner)
		return false;
	if (!place || c->profile->places.items[place].is_dispatcher || mean_ns(c, place, 0) <= 0) {
		if (!extra)
			return false;
		put_first(c, index_of(c, extra));
	} else {
		add_divergence(c, DIVERGENCE_SLOWER, place, sure);
		put_first(c, c->all.count - 1);
		c->all.items[0].instead = NULL;
	}
	c->all.items[0].waits_in = waits_in;
	c->all.items[0].confidence = max_of(c->all.items[0].confidence, sure);
	return true;
}

/* Ratio of self time per call, bad over good. */
static double self_ratio(const struct profile_figures of[2])
{
	double good = (double)of[0].self_ticks / (double)max_of(of[0].calls, (uint64_t)1);
	double bad = (double)of[1].self_ticks / (double)max_of(of[1].calls, (uint64_t)1);

	return bad / max_of(good, 1.0);
}

/* A function that is slower for one caller alone is slower because of that caller's request: name the caller. */
static uint32_t requesting_place(const struct comparison *c, uint32_t place)
{
	const struct profile_place *places = c->profile->places.items, *this = &places[place];
	struct profile_figures others[2] = {};

	if (!this->parent || places[this->parent].is_dispatcher)
		return place;
	for (uint32_t i = 1; i < c->profile->places.count; i++)
		for (unsigned g = 0; g < 2; g++)
			if (places[i].fn == this->fn && places[places[i].parent].fn != places[this->parent].fn) {
				others[g].calls += places[i].group[g].calls;
				others[g].self_ticks += places[i].group[g].self_ticks;
			}
	if (!others[0].calls || !others[1].calls ||
	    self_ratio(others) - 1 >= (self_ratio(this->group) - 1) * ALSO_SLOWER)
		return place;
	return this->parent;
}

/* A function with more self time. */
static void add_slower(struct comparison *c, uint32_t place, const struct divergence *figures)
{
	struct divergence *d;

	add_divergence(c, DIVERGENCE_SLOWER, requesting_place(c, place), figures->confidence);
	d = &c->all.items[c->all.count - 1];
	d->waits_in = compare_function(c, place)->name;
	d->good_call_ns = figures->good_call_ns;
	d->bad_call_ns = figures->bad_call_ns;
	d->ratio = d->good_call_ns ? (double)d->bad_call_ns / (double)d->good_call_ns : NAN;
}

/* An extra call says more than self time; a more frequent one only if it costs more. */
static bool costs_more(const struct compare_slower *found, const struct divergence *first)
{
	return first->bad_calls > 0 && found->excess > fabs((double)first->bad_ns - (double)first->good_ns);
}

/* Self time of a function. */
static bool find_slower_function(struct comparison *c, struct compare_subject *subject,
				 const struct compare_options *options, double *ret_common)
{
	struct compare_slower found = {};

	if (min_of(c->group[0].sessions, c->group[1].sessions) > 3)
		found = compare_self(c, subject, options, ret_common);
	if (!found.place)
		return false;
	add_slower(c, found.place,
		   &(struct divergence){.good_call_ns = found.good_call_ns,
					.bad_call_ns = found.bad_call_ns,
					.confidence = found.sure});
	if (costs_more(&found, &c->all.items[0]))
		put_first(c, c->all.count - 1);
	return true;
}

/* Calls made more or less often. Calls missing in one group are structural and come first. */
static void find_calls(struct comparison *c, struct compare_subject *subject)
{
	compare_more_list found = {};

	compare_calls(c, subject, &found);
	vec_each(&found, more) {
		struct divergence *d;

		if (c->all.count > OTHERS_MAX)
			break;
		add_divergence(c, more->bad > more->good ? DIVERGENCE_EXTRA : DIVERGENCE_MISSING, more->place,
			       more->confidence);
		d = &c->all.items[c->all.count - 1];
		d->good_calls = more->good;
		d->bad_calls = more->bad;
	}
	vec_done(&found);
}

/* Puts the criterion by which the bad sessions were found first. */
static void put_outlier_first(struct comparison *c, const struct compare_outlier *outlier)
{
	struct divergence *d;
	uint32_t place = 0;
	size_t known;

	vec_each(&outlier->path, fn)
		place = profile_place_find(c->profile, place, *fn);
	if (!place)
		return;
	known = index_of(c, place);
	if (outlier->kind == DIVERGENCE_SLOWER) {
		add_slower(c, place,
			   &(struct divergence){.good_call_ns = outlier->good_call_ns,
						.bad_call_ns = outlier->bad_call_ns,
						.confidence = outlier->confidence});
		known = c->all.count - 1;
	} else if (known == c->all.count) {
		add_divergence(c, outlier->kind, place, outlier->confidence);
	}
	d = &c->all.items[known];
	d->good_calls = outlier->good_calls;
	d->bad_calls = outlier->bad_calls;
	put_first(c, known);
}

/* A session served by several threads may lose time in each of them. */
static void find_more_time(struct comparison *c, double sure)
{
	const struct profile_place *places = c->profile->places.items;
	uint32_t first = c->all.count && c->all.items[0].kind == DIVERGENCE_SLOWER ? c->all.items[0].place : 0,
		 top = first;

	while (top && places[top].parent && !places[places[top].parent].is_dispatcher)
		top = places[top].parent;
	for (uint32_t i = 1; first && i < c->profile->places.count; i++) {
		uint32_t place;

		if (i == top || places[i].is_dispatcher ||
		    (places[i].parent && !places[places[i].parent].is_dispatcher) ||
		    excess_ns(c, i) < ALSO * excess_ns(c, 0))
			continue;
		place = specific_place(c, follow_time(c, i));
		if (index_of(c, place) == c->all.count && mean_ns(c, place, 0) > 0)
			add_divergence(c, DIVERGENCE_SLOWER, place, sure);
	}
}

static void describe_group(struct compared_group *group, const char *name, const struct flow_sessions *s,
			   const uint8_t *group_of, uint8_t number)
{
	flow_weighed_table spans = {};

	*group = (struct compared_group){.name = name};
	for (size_t i = 0; i < s->list.count; i++) {
		const struct flow_row *row = &s->list.items[i];
		uint64_t count = flow_row_count(s, row);

		spill_trim_at(i);
		if (group_of[i] != number)
			continue;
		spill_push(&spans, (struct flow_weighed){flow_row_span_ns(s, row), count, 0});
		group->sessions += (uint32_t)min_of(count, (uint64_t)(UINT32_MAX - group->sessions));
	}
	flow_weighed_sort(&spans);
	group->median_ns = flow_median(spans.items, spans.count);
	spill_done(&spans);
}

static void to_ns(struct comparison *c)
{
	for (unsigned g = 0; g < 2; g++)
		for (size_t i = 0; i < c->profile->places.count; i++)
			c->sums.ticks[g][i] = flow_span_ns(c->profile->trace, c->sums.ticks[g][i]);
}

/*
 * Sessions of one trace ran side by side, so longer ones have a cause. Between two traces the machine may have changed:
 * there self time comes first, and whole sessions only if they are slower by more than that.
 */
static void find_times(struct comparison *c, struct compare_subject *subject, const struct compare_options *options,
		       const struct slowness *slowness)
{
	struct compare_options beyond = *options;
	double common = 1;

	if (!compare_is_of_two(subject)) {
		if (find_time(c, options, slowness)) {
			find_more_time(c, slowness->sure);
			return;
		}
		/* Skip the expensive search when there is already a result. */
		if (!c->all.count)
			find_calls(c, subject);
		(void)find_slower_function(c, subject, options, &common);
		return;
	}
	find_calls(c, subject);
	if (find_slower_function(c, subject, options, &common))
		return;
	beyond.ratio = (options->ratio > 0 ? options->ratio : 2) * common;
	if (slowness->sure >= TRACES_SURE && slowness->medians >= beyond.ratio && find_time(c, &beyond, slowness))
		find_more_time(c, slowness->sure);
}

static void finish(struct comparison *c, struct compare_subject *subject, const struct compare_options *options)
{
	struct structure structure = {.c = c,
				      .noise = compare_is_of_two(subject) ? NULL : &subject->sessions[0]->noise};
	struct slowness slowness =
		slowness_of(subject->sessions[0], subject->group_of[0], subject->sessions[1], subject->group_of[1]);

	profile_sum(c->profile, &c->sums);
	to_ns(c);
	if (c->group[0].sessions && c->group[1].sessions) {
		find_structure(&structure);
		put_extra_first(c);
		if (options->outlier && options->outlier->path.count)
			put_outlier_first(c, options->outlier);
		else
			find_times(c, subject, options, &slowness);
	}
	compare_cells_done(subject);
	if (options->outlier && options->outlier->how)
		c->how = c->how_text = xstrdup(options->outlier->how);
	compare_answer(c);
	c->answer = c->answer_text;
	c->groups = (struct list){c->group, 2};
	c->divergence = (struct list){c->all.items, c->all.count ? 1 : 0};
	if (!c->all.items)
		vec_reserve(&c->all, 1);
	c->others = (struct list){vec_from(&c->all, min_of(c->all.count, (size_t)1)),
				  (uint32_t)min_of(c->all.count - (c->all.count > 0), (size_t)OTHERS_MAX)};
}

static void take_functions(struct comparison *c, const struct flow_trace *trace)
{
	c->functions = xrealloc_array(c->functions, c->function_count + trace->function_count, sizeof(*c->functions));
	c->modules = xrealloc_array(c->modules, c->function_count + trace->function_count, sizeof(*c->modules));
	for (size_t i = 0; i < trace->function_count; i++) {
		c->functions[c->function_count + i] = &trace->functions[i];
		c->modules[c->function_count + i] = &trace->modules[trace->functions[i].module];
	}
	c->function_count += trace->function_count;
}

struct comparison *compare_groups(struct flow_sessions *s, const uint8_t *group_of,
				  const struct compare_options *options)
{
	struct comparison *c = xzalloc(sizeof(*c));

	take_functions(c, s->trace);
	describe_group(&c->group[0], "good", s, group_of, 0);
	describe_group(&c->group[1], "bad", s, group_of, 1);
	c->profile = profile_new_seen(s, group_of, 2);
	finish(c, &(struct compare_subject){.sessions = {s, s}, .group_of = {group_of, group_of}}, options);
	return c;
}

struct comparison *compare_traces(struct flow_sessions *good, struct flow_sessions *bad,
				  const struct compare_options *options)
{
	_cleanup_(profile_freep) struct profile *second = NULL;
	struct comparison *c = xzalloc(sizeof(*c));
	_cleanup_groups_ flow_groups zeros = flow_groups_of(good), ones = flow_groups_of(bad);
	uint32_t *fn_of;

	memset(ones.items, 1, ones.count);
	take_functions(c, good->trace);
	take_functions(c, bad->trace);
	describe_group(&c->group[0], "good", good, zeros.items, 0);
	describe_group(&c->group[1], "bad", bad, ones.items, 1);
	c->profile = profile_new_seen(good, zeros.items, 2);
	second = profile_new_seen(bad, ones.items, 2);
	fn_of = function_match_profiles(c->profile, second);
	profile_merge(c->profile, second, fn_of);
	finish(c,
	       &(struct compare_subject){
		       .sessions = {good, bad}, .group_of = {zeros.items, ones.items}, .fn_of = fn_of},
	       options);
	free(fn_of);
	return c;
}

void comparison_free(struct comparison *c)
{
	if (!c)
		return;
	vec_each(&c->all, d)
		free((void *)d->path.items);
	vec_done(&c->all);
	if (c->profile)
		profile_sums_done(&c->sums);
	profile_free(c->profile);
	free(c->functions);
	free(c->modules);
	free(c->answer_text);
	free(c->how_text);
	free(c);
}
