/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls of one place in good sessions against those in bad ones. A session's time as a whole is mostly that of others: of the client, of
 * those who are served before it. What a function takes when it is called is its own, and shows where sessions are equally long.
 */
#include "flow/compare.h"

/* So many calls of each group are looked at, of so many places at most. */
#define CALLS_MAX  4096
#define PLACES_MAX 256
/* Worth a closer look: the mean call takes so much longer ... */
#define CLOSER 1.2
/* ... and this is what the median call must do, unless told otherwise. */
#define SLOWER 1.5
/* The additional time is at least the first, and at least the second or this share of what a good session works. */
#define LEAST_NS    20000.0
#define ENOUGH_NS   200000.0
#define LEAST_SHARE 0.1
/* False alarms over all places, and how often a bad call is the longer one. */
#define CALL_CHANCE 0.001
#define CALL_SURE   0.85
/* A call inside has most of what its caller has. */
#define INNER 0.6

struct call_times {
	uint32_t place;
	double excess; /* nanoseconds a bad session */
	double sure;
	bool is_slower;
	uint64_t good, bad; /* medians, nanoseconds */
};

struct calls {
	struct comparison *c;
	double factor;
	double least;
	VEC(struct call_times) times;
	struct profile_samples samples;
};

/* Time inside, waiting between segments left out. */
static double work_ns(const struct comparison *c, uint32_t place, unsigned group)
{
	double waits = (double)flow_span_ns(c->profile->trace, c->sums.waits[group][place]);

	return max_of((double)c->sums.ticks[group][place] - waits, 0.0);
}

static double session_work_ns(const struct comparison *c, uint32_t place, unsigned group)
{
	return work_ns(c, place, group) / max_of(c->group[group].sessions, 1u);
}

static int by_excess(const void *a, const void *b)
{
	const struct call_times *one = a, *other = b;

	return one->excess > other->excess ? -1 : one->excess < other->excess;
}

static void choose_places(struct calls *calls)
{
	const struct comparison *c = calls->c;

	for (uint32_t i = 1; i < c->profile->places.count; i++) {
		const struct profile_place *place = &c->profile->places.items[i];
		double good = work_ns(c, i, 0) / (double)max_of(place->group[0].calls, (uint64_t)1);
		double bad = work_ns(c, i, 1) / (double)max_of(place->group[1].calls, (uint64_t)1);
		double excess = (bad - good) * (double)place->group[1].calls / max_of(c->group[1].sessions, 1u);

		if (!place->is_dispatcher && place->group[0].calls && place->group[1].calls && bad >= CLOSER * good &&
		    excess >= calls->least)
			vec_push(&calls->times, (struct call_times){.place = i, .excess = excess});
	}
	vec_sort(&calls->times, by_excess);
	calls->times.count = min_of(calls->times.count, (size_t)PLACES_MAX);
}

static void take_samples(struct calls *calls, const struct compare_subject *subject)
{
	struct profile *profile = calls->c->profile;

	for (unsigned g = 0; g < 2; g++) {
		/* No place is added to the profile, all of them are there. */
		calls->samples.left[g] = xzalloc(profile->places.count * sizeof(*calls->samples.left[g]));
		vec_each(&calls->times, t)
			calls->samples.left[g][t->place] = CALLS_MAX;
	}
	profile_sample(profile, subject->sessions[0], subject->group_of[0], NULL, &calls->samples);
	if (subject->sessions[1] != subject->sessions[0])
		profile_sample(profile, subject->sessions[1], subject->group_of[1], subject->fn_of, &calls->samples);
}

/* False alarms are few even if calls of one session are alike: it counts once. */
static bool is_slower(const struct calls *calls, const struct call_times *t, size_t good_calls, size_t bad_calls)
{
	size_t good = min_of(good_calls, (size_t)profile_seen(calls->c->profile, t->place, 0));
	size_t bad = min_of(bad_calls, (size_t)profile_seen(calls->c->profile, t->place, 1));

	return t->sure >= CALL_SURE && (double)t->bad >= calls->factor * (double)t->good &&
	       compare_rank_chance(t->sure, good, bad) * (double)calls->times.count <= CALL_CHANCE;
}

/* Whether the bad calls of the place take longer. */
static bool examine(struct calls *calls, struct call_times *t)
{
	const struct flow_trace *trace = calls->c->profile->trace;
	SPILL(uint64_t) of[2] = {};
	bool slower = false;

	vec_each(&calls->samples.list, sample)
		if (sample->place == t->place)
			spill_push(&of[sample->group], sample->ticks);
	if (of[0].count && of[1].count) {
		t->sure = compare_superiority(of[0].items, of[0].count, of[1].items, of[1].count);
		/* They are sorted now. */
		t->good = flow_span_ns(trace, of[0].items[of[0].count / 2]);
		t->bad = flow_span_ns(trace, of[1].items[of[1].count / 2]);
		slower = is_slower(calls, t, of[0].count, of[1].count);
	}
	spill_done(&of[0]);
	spill_done(&of[1]);
	return slower;
}

static bool is_inside(const struct comparison *c, uint32_t place, uint32_t outer)
{
	while (place && place != outer)
		place = c->profile->places.items[place].parent;
	return place == outer;
}

/* The one that is slower for sure and has most of the additional time, or what has most of that inside it. */
static const struct call_times *innermost(const struct calls *calls)
{
	const struct call_times *found = NULL;

	/* In the order of their additional time: what is inside comes after what is around it. */
	vec_each(&calls->times, t)
		if (found ? t->excess >= INNER * found->excess && is_inside(calls->c, t->place, found->place)
			  : t->is_slower)
			found = t;
	return found;
}

static double least_of(const struct comparison *c)
{
	return max_of(LEAST_NS, min_of(ENOUGH_NS, LEAST_SHARE * session_work_ns(c, 0, 0)));
}

uint32_t compare_calls(struct comparison *c, const struct compare_subject *subject,
		       const struct compare_options *options, struct divergence *ret_found)
{
	struct calls calls = {
		.c = c,
		.factor = options->ratio > 0 ? options->ratio : SLOWER,
		.least = options->min_ns ? (double)options->min_ns : least_of(c),
	};
	const struct call_times *found;
	uint32_t place = 0;

	choose_places(&calls);
	if (calls.times.count)
		take_samples(&calls, subject);
	vec_each(&calls.times, t)
		t->is_slower = examine(&calls, t);
	found = innermost(&calls);
	if (found) {
		place = found->place;
		ret_found->good_call_ns = found->good;
		ret_found->bad_call_ns = found->bad;
		ret_found->confidence = found->sure;
	}
	vec_done(&calls.times);
	spill_done(&calls.samples.list);
	free(calls.samples.left[0]);
	free(calls.samples.left[1]);
	return place;
}
