/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where two groups of sessions part: first by structure (a call that the sessions of one group make and those of the
 * other do not), then by time (a call that takes longer). What varies inside a group is noise and no difference between
 * the groups: a place counts when nearly all sessions of one group are at it and nearly none of the other, more often
 * than chance would have it.
 */
#pragma once

#include "flow/analyse/profile.h"

enum divergence_kind { DIVERGENCE_SLOWER, DIVERGENCE_EXTRA, DIVERGENCE_MISSING };

struct divergence_frame {
	const char *function;
};

struct divergence {
	const char *function;
	const char *module;
	struct list path;         /* of struct divergence_frame, outermost first; the function is its last */
	uint8_t kind;             /* enum divergence_kind */
	double ratio;             /* of the times; NaN when the good ones take none */
	double good, bad;         /* slower: nanoseconds a session, on average; otherwise sessions that make the call */
	uint64_t good_ns, bad_ns; /* a session, on average, at this place and below, waiting included */
	uint32_t good_sessions, bad_sessions; /* that were at this place */
	double confidence;                    /* that it is no chance, 0 ... 1 */
	const char *waits_in; /* innermost function that most of the additional time goes to; NULL: none stands out */
	const char *instead;  /* what the good sessions call there and the bad ones do not; NULL: nothing */
	uint64_t good_call_ns, bad_call_ns; /* of a call by itself, where that was compared; 0: it was not */
	double good_calls, bad_calls;       /* a session makes, where it makes more than others; 0: it is not that */
	uint32_t place;
};

struct compared_group {
	const char *name;
	uint32_t sessions;
	uint64_t median_ns; /* span */
};

struct comparison {
	struct list groups;     /* of two struct compared_group: good, bad */
	const char *answer;     /* one sentence */
	struct list divergence; /* none or one */
	struct list others;
	const char *how; /* the groups were found; NULL: they were given */

	/* Not shown. */
	struct compared_group group[2];
	struct profile *profile;                /* group 0 good, 1 bad */
	struct profile_sums sums;               /* in nanoseconds, of all sessions of the group */
	const struct flow_function **functions; /* of profile places */
	const struct flow_module **modules;     /* of these functions */
	size_t function_count;
	VEC(struct divergence) all; /* the first is the divergence */
	char *answer_text;
	char *how_text;
};

extern const struct record_type comparison_type;
extern const struct record_type divergence_type;

/* What makes the sessions outliers that compare_find_outliers found, where it is known: a call, and how it differs. */
struct compare_outlier {
	char *how;          /* they were found, one sentence */
	VEC(uint32_t) path; /* functions, the outermost first; none: the comparison has to find it */
	enum divergence_kind kind;
	double good_calls, bad_calls;       /* in a session, where it is made more often; 0: it is not that */
	uint64_t good_call_ns, bad_call_ns; /* of a call without its callees, where it is slower */
	double confidence;
};

void compare_outlier_done(struct compare_outlier *outlier);

struct compare_options {
	double ratio;    /* slower by this factor at least; 0: 2 */
	uint64_t min_ns; /* and by this time a session; 0: 1 ms */
	const struct compare_outlier *outlier;
};

/* group_of: for each session of the list 0 good, 1 bad, anything else: left out. */
struct comparison *compare_groups(struct flow_sessions *sessions, const uint8_t *group_of,
				  const struct compare_options *options);
/* All sessions of two traces: functions are the same when their names are. */
struct comparison *compare_traces(struct flow_sessions *good, struct flow_sessions *bad,
				  const struct compare_options *options);
void comparison_free(struct comparison *comparison);

/*
 * Groups by expression over the sessions' fields; either may be NULL, and then is everything else. -EINVAL with a
 * sentence; -ENODATA when a group is empty.
 */
int compare_label(const struct flow_sessions *sessions, const char *good, const char *bad, uint8_t *ret_group_of,
		  struct why *why) _must_check_;
/*
 * Without labels: those that stand out by shape and time, by a call that few make or few leave out, or by a function
 * that takes longer are the bad ones. -ENODATA when none does.
 */
int compare_find_outliers(struct flow_sessions *sessions, uint8_t *ret_group_of, struct compare_outlier *ret_outlier,
			  struct why *why) _must_check_;
/* Its second half (compare_outlier.c): sessions that do something else, or with a slower function. How many. */
size_t compare_outlier_find(struct flow_sessions *sessions, struct profile *profile, const struct profile_cells *cells,
			    uint8_t *ret_group_of, struct compare_outlier *ret_outlier);

/* What is compared: the sessions of both groups, and which they are. */
struct compare_subject {
	struct flow_sessions *sessions[2];
	const uint8_t *group_of[2];
	const uint32_t *fn_of; /* of the second one's functions, when it is another trace; otherwise NULL */

	/* Session by session, once it was asked for (compare_cells); the second is of a second trace. */
	bool has_cells;
	struct profile_cells cells[2];
};

static inline bool compare_is_of_two(const struct compare_subject *subject)
{
	return subject->sessions[0] != subject->sessions[1];
}

/* Reads the trace again, the first time. */
void compare_cells(struct comparison *comparison, struct compare_subject *subject);
void compare_cells_done(struct compare_subject *subject);

/* A function that takes longer by itself; place 0: none does. */
struct compare_slower {
	uint32_t place;
	double excess;                      /* nanoseconds a bad session */
	uint64_t good_call_ns, bad_call_ns; /* lower quartiles of the sessions' mean calls, callees left out */
	double sure;
};

/* Functions by themselves, session by session (compare_self.c); and the factor by which all of them are slower. */
struct compare_slower compare_self(struct comparison *comparison, struct compare_subject *subject,
				   const struct compare_options *options, double *ret_common);

/* A call that bad sessions make more often than good ones, or less often. */
struct compare_more {
	uint32_t place;
	double good, bad; /* medians: calls for each call of its caller; for each request where a dispatcher calls it */
	double weight;    /* nanoseconds a session, more or less */
	double confidence;
};
typedef VEC(struct compare_more) compare_more_list;

/* Those calls (compare_calls.c), the one first that makes the largest difference. */
void compare_calls(struct comparison *comparison, struct compare_subject *subject, compare_more_list *ret_list);

static inline const struct flow_function *compare_function(const struct comparison *comparison, uint32_t place)
{
	return comparison->functions[comparison->profile->places.items[place].fn];
}

/* Fills answer_text (compare_answer.c). */
void compare_answer(struct comparison *comparison);

/* --- the parts (compare_test.c) --- */

/* Sorts them; 0 when there are none. */
uint64_t compare_median(uint64_t *values, size_t count);
/* Chance that a value of b is larger than one of a, ties half. Sorts both. */
double compare_superiority(uint64_t *a, size_t a_count, uint64_t *b, size_t b_count);
/* Chance of such a superiority or a larger one between samples of one and the same (Mann-Whitney, normal curve). */
double compare_rank_chance(double superiority, size_t a_count, size_t b_count);
/* Chance of so many or more of the bad among those that have it, if it had nothing to do with being bad (Fisher). */
double compare_chance(uint32_t bad_with, uint32_t bad, uint32_t good_with, uint32_t good);
