/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "flow/analyse/compare.h"
#include "flow/analyse/delay_noise.h"
#include "flow/analyse/function_match.h"

/* Majority of the additional time: the search descends into a call with this share of it. */
#define MOST 0.6
/* Scheduling delays of this part of the additional time hide where it is. */
#define HIDING 0.1
/* Other places with at least this share are also reported. */
#define ALSO 0.2
/* Times vary more than calls, especially on a busy machine. */
#define TIME_CHANCE 0.002
/* Minimum probability that a bad session is slower than a good one. */
#define SURE 0.8
/* The same between two traces, and the factor between the medians that is nearly certain. */
#define TRACES_SURE  0.9
#define TRACES_LEAST 1.25
/* A function with this many callers says little about its calling context. */
#define COMMON_CALLERS 3
#define OTHERS_MAX     20
/* Minimum share of bad sessions that call what made them pause. */
#define PAUSE_SHARE 0.9
/* Calls of a function by one of its caller that make a loop of it, and their factor over those in good sessions. */
#define LOOP_CALLS  100
#define LOOP_FACTOR 8
/* Minimum slowdown of the function for its other callers, relative to that of one. */
#define ALSO_SLOWER 0.7
/* Smallest share of a function's wait that it also has where a caller of its caller calls it. */
#define ALSO_WAITS 0.05

static const struct enum_name kind_names[] = {
	{DIVERGENCE_SLOWER, "slower", "bad sessions take longer in the function"},
	{DIVERGENCE_EXTRA, "extra", "bad sessions make a call that good ones do not"},
	{DIVERGENCE_MISSING, "missing", "good sessions make a call that bad ones do not"},
	{DIVERGENCE_LEFT, "left", "bad sessions leave the function before calls that good ones make"},
};
static struct enum_names divergence_kind_names = {.items = kind_names, .count = ARRAY_SIZE(kind_names)};

static const struct enum_name time_items[] = {
	{PROFILE_OWN, "own", "the program's own: work, locks, sleep, other descriptors"},
	{PROFILE_DRIP, "drip", "waiting for the client to send the rest of a request"},
	{PROFILE_STALL, "stall", "waiting for the client to read the answer"},
	{PROFILE_CPU, "cpu", "the program's own: work on a CPU"},
	{PROFILE_TIMES, "any", "not distinguished"},
};
static struct enum_names time_names = {.items = time_items, .count = ARRAY_SIZE(time_items)};

static const struct field frame_fields[] = {FIELD(struct divergence_frame, function, TEXT, "function")};
static RECORD_TYPE(frame_type, "flow_frame", struct divergence_frame, frame_fields, "a function of a call path",
		   .bare = true);

static const struct field divergence_fields[] = {
	FIELD(struct divergence, function, TEXT, "function where the sessions diverge"),
	FIELD(struct divergence, kind, ENUM, "how", .names = &divergence_kind_names),
	FIELD(struct divergence, time, ENUM, "what the additional time is", .names = &time_names, .hidden = true),
	FIELD(struct divergence, ratio, RATIO, "ratio of bad to good time"),
	FIELD(struct divergence, ratio_low, RATIO, "lower end of its 99 % confidence interval, from resampled sessions",
	      .zero_is_unknown = true, .hidden = true),
	FIELD(struct divergence, ratio_high, RATIO, "upper end of it", .zero_is_unknown = true, .hidden = true),
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
	FIELD(struct divergence, before, TEXT, "call of it that bad sessions do not make, because they leave it before",
	      .hidden = true),
	FIELD(struct divergence, module, TEXT, "program or library of the function", .hidden = true),
	FIELD(struct divergence, file, TEXT, "source file of the function", .hidden = true),
	FIELD(struct divergence, line, ID, "line there", .zero_is_unknown = true, .hidden = true),
	FIELD(struct divergence, address, HEX, "address in the program or library", .zero_is_unknown = true,
	      .hidden = true),
	FIELD(struct divergence, path, LIST, "call path, outermost function first", .element = &frame_type,
	      .hidden = true),
};
RECORD_TYPE(divergence_type, "flow_divergence", struct divergence, divergence_fields,
	    "a difference between two groups of sessions");

static const struct field member_fields[] = {FIELD(struct compared_member, session, ID, "session number")};
static RECORD_TYPE(member_type, "flow_member", struct compared_member, member_fields, "a session of a group",
		   .bare = true);

static const struct field group_fields[] = {
	FIELD(struct compared_group, name, TEXT, "good or bad"),
	FIELD(struct compared_group, sessions, COUNT, "number of sessions"),
	FIELD(struct compared_group, median_ns, DURATION, "median duration of the sessions"),
	FIELD(struct compared_group, members, LIST, "their numbers, up to 10,000", .element = &member_type),
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

double compare_mean_ns(const struct comparison *c, uint32_t place, unsigned group)
{
	uint32_t sessions = c->group[group].sessions;

	return sessions ? (double)c->sums.ticks[group][place] / sessions : 0;
}

double compare_excess_ns(const struct comparison *c, uint32_t place)
{
	return compare_mean_ns(c, place, 1) - compare_mean_ns(c, place, 0);
}

struct compare_presence compare_presence_of(const struct comparison *c, uint32_t place)
{
	uint32_t parent = c->profile->places.items[place].parent;
	/* Dispatchers serve all sessions; otherwise only sessions that reach the caller count. */
	bool all = !parent || c->profile->places.items[parent].is_dispatcher;
	struct compare_presence p = {
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

struct divergence *compare_add(struct comparison *c, enum divergence_kind kind, uint32_t place, double confidence)
{
	struct compare_presence p = compare_presence_of(c, place);
	struct divergence *d = vec_add(&c->all);
	double good = compare_mean_ns(c, place, 0), bad = compare_mean_ns(c, place, 1);

	*d = (struct divergence){
		.function = compare_function(c, place)->name,
		.module = c->modules[c->profile->places.items[place].fn]->name,
		.file = compare_function(c, place)->file,
		.line = compare_function(c, place)->line,
		.address = compare_function(c, place)->offset,
		.time = PROFILE_TIMES,
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
		.call = place,
	};
	add_path(c, d);
	return d;
}

void compare_put_first(struct comparison *c, size_t index)
{
	struct divergence first = c->all.items[index];

	memmove(c->all.items + 1, c->all.items, index * sizeof(first));
	c->all.items[0] = first;
}

/* --- time --- */

static uint32_t largest_child(const struct comparison *c, uint32_t place)
{
	uint32_t best = 0;

	for (uint32_t at = c->profile->places.items[place].first_child; at; at = c->profile->places.items[at].next)
		if (!best || compare_excess_ns(c, at) > compare_excess_ns(c, best))
			best = at;
	return best;
}

/* The innermost place with most of the additional time. */
static uint32_t follow_time(const struct comparison *c, uint32_t place)
{
	for (;;) {
		uint32_t next = largest_child(c, place);

		/* The largest among root functions and dispatchers. */
		if (!next || (compare_excess_ns(c, next) < MOST * compare_excess_ns(c, place) &&
			      !(!place && compare_excess_ns(c, next) > 0) &&
			      !(c->profile->places.items[place].is_dispatcher && compare_excess_ns(c, next) > 0)))
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

/*
 * Whether work of the bad sessions begins with this function elsewhere: it is resumed there, as a coroutine is. Its
 * callers are those that happened to run before.
 */
static bool is_resumed(const struct comparison *c, uint32_t fn)
{
	const struct profile_place *places = c->profile->places.items;
	uint64_t calls = 0;

	for (size_t i = 1; i < c->profile->places.count; i++)
		if (places[i].fn == fn && places[i].parent && places[places[i].parent].is_dispatcher)
			calls += places[i].group[1].calls;
	return calls && calls >= c->profile->looked_at[1];
}

/* Mean wait of a bad session beyond that of a good one. */
static double more_wait(const struct comparison *c, uint32_t place)
{
	const struct profile_figures *f = c->profile->places.items[place].group;

	return (double)f[1].wait_ticks / (double)max_of(c->group[1].sessions, 1u) -
	       (double)f[0].wait_ticks / (double)max_of(c->group[0].sessions, 1u);
}

/* A caller of its caller also calls it, and bad sessions wait there as well: it is not there for its caller. */
static bool waits_for_others(const struct comparison *c, uint32_t place)
{
	const struct profile_place *places = c->profile->places.items;
	uint32_t up = places[places[place].parent].parent;

	for (; up && !places[up].is_dispatcher; up = places[up].parent) {
		uint32_t other = profile_place_find(c->profile, up, places[place].fn);

		if (other && other != place && more_wait(c, other) >= ALSO_WAITS * more_wait(c, place))
			return true;
	}
	return false;
}

/* Moves from a function with many callers out to its caller, and from a leaf that only wraps a system call. */
static uint32_t specific_place(const struct comparison *c, uint32_t place)
{
	const struct profile_place *places = c->profile->places.items;
	uint32_t parent = places[place].parent;
	const struct profile_figures *bad = &places[place].group[1];
	/* A wait is of the function that reads or writes, not of one that only polls. */
	bool is_wrapper = !places[place].first_child &&
			  (bad->wait_ticks > bad->self_ticks || (places[place].polls && !places[place].moves_bytes)) &&
			  !waits_for_others(c, place);

	/* The root of a segment says less than what it calls. */
	while (is_wrapper && parent && places[parent].parent && !places[places[parent].parent].is_dispatcher) {
		/* And so is what does nothing but call it. */
		is_wrapper = places[parent].first_child == place && !places[place].next &&
			     places[parent].group[1].calls == places[place].group[1].calls;
		place = parent;
		parent = places[place].parent;
	}
	for (;;) {
		parent = places[place].parent;
		if (!parent || places[parent].is_dispatcher || caller_count(c, places[place].fn) < COMMON_CALLERS ||
		    is_resumed(c, places[place].fn))
			return place;
		place = parent;
	}
}

/* Calls of a function in good sessions, wherever, or of another copy of it: it may be of a header. */
static bool is_called_by_good(const struct comparison *c, uint32_t fn)
{
	for (uint32_t i = 1; i < c->profile->places.count; i++) {
		uint32_t other = c->profile->places.items[i].fn;

		if (c->profile->places.items[i].group[0].calls &&
		    (other == fn || (c->modules[other] == c->modules[fn] &&
				     strcmp(c->functions[other]->name, c->functions[fn]->name) == 0)))
			return true;
	}
	return false;
}

/* Along the call with that share of the places below: the last function that good sessions never call. */
static uint32_t innermost_new(const struct comparison *c, uint32_t place, const uint32_t *below, double share)
{
	uint32_t found = place;

	for (;;) {
		uint32_t next = 0;

		for (uint32_t at = c->profile->places.items[place].first_child; at;
		     at = c->profile->places.items[at].next)
			if (below[at] > below[next])
				next = at;
		if (!next || below[next] < share * (below[place] - 1))
			return found;
		place = next;
		found = is_called_by_good(c, c->profile->places.items[place].fn) ? found : place;
	}
}

/*
 * The bad sessions paused between two segments, and not for their client: the function that made them pause is not open
 * then. It is the one that good sessions never call, with most of the places below, and called before the pause if
 * there is such a one; 0: there is none.
 */
static uint32_t pausing_place(const struct comparison *c, uint32_t place)
{
	const struct profile_figures *f = c->profile->places.items[place].group;
	size_t n = c->profile->places.count;
	_cleanup_free_ uint32_t *below = xzalloc((n + 1) * sizeof(*below));
	uint32_t best = 0, before = 0;

	if (f[1].pause_ticks * 2 < f[1].wait_ticks + f[1].self_ticks)
		return 0;
	for (uint32_t i = (uint32_t)n; i-- > 1;) {
		const struct profile_place *at = &c->profile->places.items[i];

		if (!at->group[1].calls || !i)
			continue;
		below[at->parent] += ++below[i];
		if (at->group[0].calls || at->is_dispatcher ||
		    profile_seen(c->profile, i, 1) < PAUSE_SHARE * c->profile->looked_at[1] ||
		    is_called_by_good(c, at->fn))
			continue;
		if (!best || below[i] >= below[best])
			best = i;
		/* A leaf only finds out, or helps. */
		if (at->first_child && profile_order(c->profile, 1, i) < c->profile->pause_order[1] &&
		    (!before || below[i] >= below[before]))
			before = i;
	}
	/* What comes before decides to wait, itself or in what it only wraps; what comes after is dispatched to. */
	if (before)
		return innermost_new(c, before, below, 1);
	return best ? innermost_new(c, best, below, PAUSE_SHARE) : 0;
}

/* Ratio of self time per call, bad over good. */
static double self_ratio(const struct profile_figures of[2])
{
	double good = (double)of[0].self_ticks / (double)max_of(of[0].calls, (uint64_t)1);
	double bad = (double)of[1].self_ticks / (double)max_of(of[1].calls, (uint64_t)1);

	return bad / max_of(good, 1.0);
}

static uint64_t calls_of(const struct profile_place *place)
{
	return place->group[0].calls + place->group[1].calls;
}

/*
 * The caller makes exactly one of several calls, this one among them, each time: it passes on to a function what is for
 * that, and says less than the function.
 */
static bool is_forwarded(const struct comparison *c, uint32_t place)
{
	const struct profile_place *places = c->profile->places.items, *up = &places[places[place].parent];
	uint64_t calls = 0, others = 0;

	for (uint32_t at = up->first_child; at; at = places[at].next) {
		if (calls_of(&places[at]) >= calls_of(up))
			continue;
		calls += calls_of(&places[at]);
		others += at != place && calls_of(&places[at]);
	}
	return others && calls_of(&places[place]) < calls_of(up) && calls == calls_of(up);
}

/*
 * A function that is slower for one caller alone is slower because of that caller's request: name the caller. Of waits
 * between two calls nothing is known of other callers: they are counted where the session was before.
 */
static uint32_t requesting_place(const struct comparison *c, uint32_t place)
{
	const struct profile_place *places = c->profile->places.items, *this = &places[place];
	struct profile_figures others[2] = {};

	if (!this->parent || places[this->parent].is_dispatcher ||
	    this->group[1].wait_ticks > this->group[1].self_ticks)
		return place;
	for (uint32_t i = 1; i < c->profile->places.count; i++)
		for (unsigned g = 0; g < 2; g++)
			if (places[i].fn == this->fn && places[places[i].parent].fn != places[this->parent].fn) {
				others[g].calls += places[i].group[g].calls;
				others[g].self_ticks += places[i].group[g].self_ticks;
			}
	if (!others[0].calls || !others[1].calls || is_forwarded(c, place) ||
	    self_ratio(others) - 1 >= (self_ratio(this->group) - 1) * ALSO_SLOWER)
		return place;
	return this->parent;
}

/* Calls per call of the caller. */
static double calls_per_call(const struct comparison *c, uint32_t place, unsigned group)
{
	const struct profile_place *places = c->profile->places.items;

	return (double)places[place].group[group].calls /
	       (double)max_of(places[places[place].parent].group[group].calls, (uint64_t)1);
}

static bool is_wait(const struct profile_place *place)
{
	return place->group[1].wait_ticks > place->group[1].self_ticks;
}

/* Time of very many calls is that of the function which loops: it, or a caller of it, is called from there. */
static uint32_t looping_place(const struct comparison *c, uint32_t place)
{
	const struct profile_place *places = c->profile->places.items;

	if (is_wait(&places[place]))
		return place;
	for (uint32_t at = place; places[at].parent && !places[places[at].parent].is_dispatcher; at = places[at].parent)
		if (calls_per_call(c, at, 1) >= max_of(LOOP_CALLS, LOOP_FACTOR * calls_per_call(c, at, 0)))
			return places[at].parent;
	return place;
}

/* The place to name for time at this one. */
static uint32_t named_place(const struct comparison *c, uint32_t place)
{
	uint32_t named = pausing_place(c, place);

	if (!named) {
		named = specific_place(c, place);
		/* One wait below a loop is none of many calls. */
		if (!is_wait(&c->profile->places.items[place]))
			named = looping_place(c, named);
	}
	return named == place ? requesting_place(c, place) : named;
}

/* How much longer bad sessions take as a whole. */
struct slowness {
	double sure;  /* probability that a bad session takes longer than a good one */
	double least; /* shortest bad over longest good */
	double medians;
	struct compare_interval interval; /* of the ratio of the medians; only for two traces */
	double delay_ns[2];               /* mean scheduling delay of the sessions of each group */
	double cpu_ns[2];                 /* the same of their CPU time */
	double noise_ns;                  /* a delay that few are longer than */
};

/* Time of a session, without that of an idle client: with or without the scheduling delay of its threads; on a CPU. */
enum session_time { TIME_WHOLE, TIME_NET, TIME_CPU };

static uint64_t time_of(const struct profile *profile, size_t index, enum session_time time)
{
	uint64_t ns = flow_span_ns(profile->trace, profile->spent.items[index]);

	if (time == TIME_CPU)
		return profile->delays.cpu.items[index];
	return time == TIME_WHOLE ? ns : ns - min_of(ns, profile->delays.of.items[index]);
}

/* Of the profiles of the good and of the bad sessions; may be the same. */
static struct slowness slowness_of(const struct compare_subject *subject, enum session_time time)
{
	SPILL(uint64_t) a = {}, b = {};
	struct slowness result = {};

	for (unsigned g = 0; g < 2; g++) {
		const struct profile *profile = subject->profile[g];

		for (size_t i = 0; i < subject->sessions[g]->list.count; i++) {
			spill_trim_at(i);
			if (subject->group_of[g][i] != g)
				continue;
			result.delay_ns[g] += time == TIME_WHOLE ? 0 : (double)profile->delays.of.items[i];
			result.cpu_ns[g] += (double)profile->delays.cpu.items[i];
			if (g)
				spill_push(&b, time_of(profile, i, time));
			else
				spill_push(&a, time_of(profile, i, time));
		}
	}
	for (unsigned g = 0; g < 2; g++) {
		result.delay_ns[g] /= max_of((double)(g ? b.count : a.count), 1.0);
		result.cpu_ns[g] /= max_of((double)(g ? b.count : a.count), 1.0);
	}
	result.noise_ns =
		delay_noise_of(subject->profile[1]->delays.all.items, subject->profile[1]->delays.all.count).large_ns;
	result.sure = compare_superiority(a.items, a.count, b.items, b.count);
	/* Both are sorted now. */
	if (a.count && b.count) {
		result.least = (double)b.items[0] / (double)max_of(a.items[a.count - 1], (uint64_t)1);
		result.medians = (double)b.items[b.count / 2] / (double)max_of(a.items[a.count / 2], (uint64_t)1);
		if (compare_is_of_two(subject))
			result.interval = compare_ratio_interval(a.items, a.count, b.items, b.count, 0.5);
	}
	spill_done(&a);
	spill_done(&b);
	return result;
}

static size_t index_of(const struct comparison *c, uint32_t place)
{
	size_t i = 0;

	while (i < c->all.count && c->all.items[i].place != place)
		i++;
	return i;
}

/* Most of the additional time is computation, and scheduling delays add to it wherever they happen. */
static bool is_hidden(const struct slowness *slowness, const double mean[2])
{
	return slowness->cpu_ns[1] - slowness->cpu_ns[0] >= MOST * (mean[1] - mean[0]) &&
	       slowness->delay_ns[1] - slowness->delay_ns[0] >= HIDING * (mean[1] - mean[0]);
}

static double factor_of(const struct compare_options *options)
{
	return options->ratio > 0 ? options->ratio : 2;
}

static double least_of(const struct compare_options *options)
{
	return options->min_ns ? (double)options->min_ns : 1e6;
}

static bool is_larger(const double mean[2], double factor, double least)
{
	return mean[1] - mean[0] >= least && mean[1] >= factor * mean[0];
}

/* With few sessions nothing is significant; with more, it must not be chance, unless all took far longer. */
static bool is_sure(const struct comparison *c, const struct slowness *slowness, double factor)
{
	uint32_t good = c->group[0].sessions, bad = c->group[1].sessions;

	return slowness->sure >= SURE &&
	       (min_of(good, bad) <= 3 || compare_rank_chance(slowness->sure, good, bad) <= TIME_CHANCE ||
		slowness->least >= factor);
}

/* The function with the additional time comes first. */
static bool name_first(struct comparison *c, uint32_t inner, double sure)
{
	const char *waits_in;
	uint32_t place;

	if (!inner)
		return false;
	waits_in = compare_function(c, inner)->name;
	place = named_place(c, inner);
	if (index_of(c, place) == c->all.count)
		(void)compare_add(c, DIVERGENCE_SLOWER, place, sure);
	compare_put_first(c, index_of(c, place));
	c->all.items[0].waits_in = waits_in;
	c->all.items[0].confidence = max_of(c->all.items[0].confidence, sure);
	return true;
}

/* Follows the additional time of bad sessions to a place. */
static bool find_time(struct comparison *c, struct compare_subject *subject, const struct compare_options *options,
		      const struct slowness *slowness)
{
	double factor = factor_of(options), least = least_of(options);
	double mean[2] = {compare_mean_ns(c, 0, 0) - slowness->delay_ns[0],
			  compare_mean_ns(c, 0, 1) - slowness->delay_ns[1]};
	bool computes = is_larger(slowness->cpu_ns, factor, least);

	/* What a busy machine may have done is no better explanation than another call. */
	if (c->all.count && !computes)
		least = max_of(least, slowness->noise_ns);
	if (!is_sure(c, slowness, factor) || !is_larger(mean, factor, least))
		return false;
	if (computes && is_hidden(slowness, mean) && !compare_is_of_two(subject))
		return name_first(c, compare_follow_cpu(c, subject), slowness->sure);
	return name_first(c, follow_time(c, 0), slowness->sure);
}

/* The same for CPU time. Where others wait for those that compute, they take as long. */
static bool find_cpu(struct comparison *c, struct compare_subject *subject, const struct compare_options *options)
{
	struct slowness cpu = slowness_of(subject, TIME_CPU);

	return is_sure(c, &cpu, factor_of(options)) && is_larger(cpu.cpu_ns, factor_of(options), least_of(options)) &&
	       name_first(c, compare_follow_cpu(c, subject), cpu.sure);
}

/* A function with more self time. */
static void add_slower(struct comparison *c, const struct compare_slower *slower)
{
	struct divergence *d;

	(void)compare_add(c, DIVERGENCE_SLOWER, requesting_place(c, slower->place), slower->sure);
	d = &c->all.items[c->all.count - 1];
	d->waits_in = compare_function(c, slower->place)->name;
	d->good_call_ns = slower->good_call_ns;
	d->bad_call_ns = slower->bad_call_ns;
	d->ratio = d->good_call_ns ? (double)d->bad_call_ns / (double)d->good_call_ns : NAN;
	d->ratio_low = slower->ratio.low;
	d->ratio_high = slower->ratio.high;
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
	add_slower(c, &found);
	if (costs_more(&found, &c->all.items[0]))
		compare_put_first(c, c->all.count - 1);
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
		(void)compare_add(c, more->bad > more->good ? DIVERGENCE_EXTRA : DIVERGENCE_MISSING, more->place,
				  more->confidence);
		d = &c->all.items[c->all.count - 1];
		d->good_calls = more->good;
		d->bad_calls = more->bad;
	}
	vec_done(&found);
}

/* Slower sessions that were found by their time at a place. */
static size_t add_slower_outlier(struct comparison *c, uint32_t place, const struct compare_outlier *outlier)
{
	uint32_t at = named_place(c, place);
	size_t known = index_of(c, at);
	struct divergence *d;

	d = known < c->all.count ? &c->all.items[known] : compare_add(c, DIVERGENCE_SLOWER, at, outlier->confidence);
	d->time = (uint8_t)outlier->time;
	/* The time in the function includes that without a CPU. */
	if (outlier->time == PROFILE_CPU) {
		d->good = outlier->good_ns;
		d->bad = outlier->bad_ns;
		d->good_ns = (uint64_t)d->good;
		d->bad_ns = (uint64_t)d->bad;
		d->ratio = d->good >= 1 ? d->bad / d->good : NAN;
	}
	d->waits_in = compare_function(c, place)->name;
	d->confidence = outlier->confidence;
	return known;
}

/* Puts the criterion by which the bad sessions were found first. */
static void put_outlier_first(struct comparison *c, const struct compare_outlier *outlier)
{
	uint32_t place = 0;
	size_t known;

	vec_each(&outlier->path, fn)
		place = profile_place_find(c->profile, place, *fn);
	if (!place)
		return;
	if (outlier->kind == DIVERGENCE_SLOWER) {
		known = add_slower_outlier(c, place, outlier);
	} else {
		known = index_of(c, place);
		if (known == c->all.count)
			(void)compare_add(c, outlier->kind, place, outlier->confidence);
		c->all.items[known].good_calls = outlier->good_calls;
		c->all.items[known].bad_calls = outlier->bad_calls;
	}
	compare_put_first(c, known);
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
		    compare_excess_ns(c, i) < ALSO * compare_excess_ns(c, 0))
			continue;
		place = specific_place(c, follow_time(c, i));
		if (index_of(c, place) == c->all.count && compare_mean_ns(c, place, 0) > 0)
			(void)compare_add(c, DIVERGENCE_SLOWER, place, sure);
	}
}

static void describe_group(struct compared_group *group, const char *name, const struct flow_sessions *s,
			   const uint8_t *group_of, uint8_t number)
{
	flow_weighed_table spans = {};
	VEC(struct compared_member) members = {};

	*group = (struct compared_group){.name = name};
	for (size_t i = 0; i < s->list.count; i++) {
		const struct flow_row *row = &s->list.items[i];
		uint64_t count = flow_row_count(s, row);

		spill_trim_at(i);
		if (group_of[i] != number)
			continue;
		if (members.count < COMPARE_MEMBERS)
			vec_push(&members, (struct compared_member){(uint32_t)i + 1});
		spill_push(&spans, (struct flow_weighed){flow_row_span_ns(s, row), count, 0});
		group->sessions += (uint32_t)min_of(count, (uint64_t)(UINT32_MAX - group->sessions));
	}
	flow_weighed_sort(&spans);
	group->median_ns = flow_median(spans.items, spans.count);
	group->members = (struct list){xrealloc_array(members.items, members.count + 1, sizeof(*members.items)),
				       (uint32_t)members.count};
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
static void find_times(struct comparison *c, struct compare_subject *subject, const struct compare_options *options)
{
	struct slowness net = slowness_of(subject, TIME_NET), whole, *slowness = &net;
	struct compare_options beyond = *options;
	double common = 1;

	if (!compare_is_of_two(subject)) {
		if (find_time(c, subject, options, slowness)) {
			find_more_time(c, slowness->sure);
			return;
		}
		if (find_cpu(c, subject, options))
			return;
		/* Skip the expensive search when there is already a result. */
		if (!c->all.count)
			find_calls(c, subject);
		if (find_slower_function(c, subject, options, &common) || c->all.count)
			return;
		/* For lack of anything else: where they had no CPU. */
		whole = slowness_of(subject, TIME_WHOLE);
		if (find_time(c, subject, options, &whole))
			find_more_time(c, whole.sure);
		return;
	}
	find_calls(c, subject);
	if (find_slower_function(c, subject, options, &common))
		return;
	beyond.ratio = (options->ratio > 0 ? options->ratio : 2) * common;
	if (slowness->sure >= TRACES_SURE && slowness->medians >= beyond.ratio &&
	    slowness->interval.low >= TRACES_LEAST * common && find_time(c, subject, &beyond, slowness))
		find_more_time(c, slowness->sure);
}

static void finish(struct comparison *c, struct compare_subject *subject, const struct compare_options *options)
{
	profile_sum(c->profile, &c->sums);
	to_ns(c);
	if (c->group[0].sessions && c->group[1].sessions) {
		compare_structure(c, subject);
		if (options->outlier && options->outlier->path.count)
			put_outlier_first(c, options->outlier);
		else
			find_times(c, subject, options);
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
	c->profile = profile_new_examined(s, group_of, 2);
	finish(c,
	       &(struct compare_subject){
		       .sessions = {s, s}, .group_of = {group_of, group_of}, .profile = {c->profile, c->profile}},
	       options);
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
	c->profile = profile_new_examined(good, zeros.items, 2);
	second = profile_new_examined(bad, ones.items, 2);
	fn_of = function_match_profiles(c->profile, second);
	profile_merge(c->profile, second, fn_of);
	finish(c,
	       &(struct compare_subject){
		       .sessions = {good, bad},
		       .group_of = {zeros.items, ones.items},
		       .fn_of = fn_of,
		       .profile = {c->profile, second},
	       },
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
	for (unsigned i = 0; i < 2; i++)
		free((void *)c->group[i].members.items);
	if (c->profile)
		profile_sums_done(&c->sums);
	profile_free(c->profile);
	free(c->functions);
	free(c->modules);
	free(c->answer_text);
	free(c->how_text);
	free(c);
}
