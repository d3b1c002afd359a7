/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Differences between two groups of sessions: first in structure (a call made by one group and not by the other), then
 * in time (a call that takes longer). Variation within a group is noise: a place counts when nearly all sessions of one
 * group and nearly none of the other pass it, beyond chance.
 */
#pragma once

#include "flow/analyse/profile.h"

enum divergence_kind { DIVERGENCE_SLOWER, DIVERGENCE_EXTRA, DIVERGENCE_MISSING, DIVERGENCE_LEFT };

struct divergence_frame {
	const char *function;
};

struct compare_interval {
	double low, high; /* 0: not known */
};

struct divergence {
	const char *function;
	const char *module;
	const char *file; /* source; NULL: unknown */
	uint32_t line;
	uint64_t address;             /* in the module; distinguishes functions of one name */
	struct list path;             /* struct divergence_frame, outermost first, the function last */
	uint8_t kind;                 /* enum divergence_kind */
	double ratio;                 /* of the times; NaN: the good ones take none */
	double ratio_low, ratio_high; /* its 99 % confidence interval, from resampled sessions; 0: not known */
	double good, bad;             /* slower: mean nanoseconds per session; otherwise sessions with the call */
	uint64_t good_ns, bad_ns;     /* mean per session at this place and below, waiting included */
	uint32_t good_sessions, bad_sessions; /* with the call */
	double confidence;                    /* 0 ... 1 */
	const char *waits_in; /* innermost function with most of the additional time; NULL: none stands out */
	const char *instead;  /* called by good sessions and not by bad ones; NULL: nothing */
	const char *before;   /* left: the first call of it that bad sessions do not make; NULL: another kind */
	uint8_t time;         /* enum profile_time: of a slower one; PROFILE_TIMES: of any kind */
	uint64_t good_call_ns, bad_call_ns; /* self time per call, if compared; 0: not compared */
	double good_calls, bad_calls;       /* per session, if their number differs; 0: it does not */
	uint32_t place;
	uint32_t call; /* place of the call that differs: the same, or one of the function's */
};

struct compared_member {
	uint32_t session; /* number */
};

struct compared_group {
	const char *name;
	uint32_t sessions;
	uint64_t median_ns;  /* duration */
	struct list members; /* struct compared_member, the first COMPARE_MEMBERS */
};

#define COMPARE_MEMBERS 10000

struct comparison {
	struct list groups;     /* two struct compared_group: good, bad */
	const char *answer;     /* one sentence */
	struct list divergence; /* none or one */
	struct list others;
	const char *how; /* how the groups were found, or what was compared; NULL: given */

	/* Not shown. */
	struct compared_group group[2];
	struct profile *profile;                /* group 0 good, 1 bad */
	struct profile_sums sums;               /* nanoseconds, over all sessions of the group */
	const struct flow_function **functions; /* of profile places */
	const struct flow_module **modules;     /* of these functions */
	size_t function_count;
	VEC(struct divergence) all; /* the first is the divergence */
	char *answer_text;
	char *how_text;
};

extern const struct record_type comparison_type;
extern const struct record_type divergence_type;

/* Criterion by which compare_find_outliers found the sessions, if known: a call, and how it differs. */
struct compare_outlier {
	char *how;          /* one sentence */
	VEC(uint32_t) path; /* functions, outermost first; empty: left to the comparison */
	enum divergence_kind kind;
	enum profile_time time;       /* of a slower one */
	double good_calls, bad_calls; /* per session, if made more often; 0: not */
	double good_ns, bad_ns;       /* per session, if slower */
	double confidence;
};

void compare_outlier_done(struct compare_outlier *outlier);

struct compare_options {
	double ratio;    /* minimum slowdown factor; 0: 2 */
	uint64_t min_ns; /* minimum additional time per session; 0: 1 ms */
	const struct compare_outlier *outlier;
};

/* group_of: per session of the list 0 good, 1 bad, anything else: excluded. */
struct comparison *compare_groups(struct flow_sessions *sessions, const uint8_t *group_of,
				  const struct compare_options *options);
/* All sessions of two traces: functions are matched by name. */
struct comparison *compare_traces(struct flow_sessions *good, struct flow_sessions *bad,
				  const struct compare_options *options);
void comparison_free(struct comparison *comparison);

/*
 * Groups by expressions over session fields; either may be NULL and then takes the rest. -EINVAL with a reason;
 * -ENODATA when a group is empty.
 */
int compare_label(const struct flow_sessions *sessions, const char *good, const char *bad, uint8_t *ret_group_of,
		  struct why *why) _must_check_;
/*
 * Without labels (outlier.h): few sessions with more time at a place, or with a rare or rarely missing call. Sessions
 * that are no client's, or were not examined, are in neither group. -ENODATA when there are none: then ret_outlier->how
 * says what was compared.
 */
int compare_find_outliers(struct flow_sessions *sessions, uint8_t *ret_group_of, struct compare_outlier *ret_outlier,
			  struct why *why) _must_check_;

/* The compared sessions, and their groups. */
struct compare_subject {
	struct flow_sessions *sessions[2];
	const uint8_t *group_of[2];
	const uint32_t *fn_of; /* maps functions of the second trace; NULL: same trace */
	const struct profile *profile[2];

	/* Per-session figures, once requested (compare_cells); [1] is for a second trace. */
	bool has_cells;
	struct profile_cells cells[2];
};

static inline bool compare_is_of_two(const struct compare_subject *subject)
{
	return subject->sessions[0] != subject->sessions[1];
}

/* Reads the trace again, once. */
void compare_cells(struct comparison *comparison, struct compare_subject *subject);
void compare_cells_done(struct compare_subject *subject);

/* A function with more self time; place 0: none. */
struct compare_slower {
	uint32_t place;
	double excess;                      /* nanoseconds per bad session */
	uint64_t good_call_ns, bad_call_ns; /* lower quartiles of the sessions' mean self time per call */
	struct compare_interval ratio;      /* of the two */
	double sure;
};

/* --- figures of a place --- */

struct compare_presence {
	uint32_t good, bad;         /* sessions that pass the place */
	uint32_t all_good, all_bad; /* sessions that pass its caller */
	double good_share, bad_share;
};

struct compare_presence compare_presence_of(const struct comparison *comparison, uint32_t place);
double compare_mean_ns(const struct comparison *comparison, uint32_t place, unsigned group);
double compare_excess_ns(const struct comparison *comparison, uint32_t place);
/* Appends a difference; valid until the next. */
struct divergence *compare_add(struct comparison *comparison, enum divergence_kind kind, uint32_t place,
			       double confidence);
void compare_put_first(struct comparison *comparison, size_t index);
/* Appends the calls that one group makes and the other does not (compare_structure.c). */
void compare_structure(struct comparison *comparison, const struct compare_subject *subject);

/* Self times per session (compare_self.c), and the factor by which all functions are slower. */
struct compare_slower compare_self(struct comparison *comparison, struct compare_subject *subject,
				   const struct compare_options *options, double *ret_common);

/* The innermost place with most of the additional CPU time (compare_cpu.c); 0: none. */
uint32_t compare_follow_cpu(struct comparison *comparison, struct compare_subject *subject);

/* A call that bad sessions make more or less often than good ones. */
struct compare_more {
	uint32_t place;
	double good, bad; /* medians: calls per call of the caller, or per request if a dispatcher calls it */
	double weight;    /* additional nanoseconds per session */
	double confidence;
};
typedef VEC(struct compare_more) compare_more_list;

/* Finds such calls (compare_calls.c), the largest difference first. */
void compare_calls(struct comparison *comparison, struct compare_subject *subject, compare_more_list *ret_list);

static inline const struct flow_function *compare_function(const struct comparison *comparison, uint32_t place)
{
	return comparison->functions[comparison->profile->places.items[place].fn];
}

/* Fills answer_text (compare_answer.c). */
void compare_answer(struct comparison *comparison);

/* --- the parts (compare_test.c) --- */

/* Sorts the values; 0 when empty. */
uint64_t compare_median(uint64_t *values, size_t count);
/* Probability that a value of b exceeds one of a, ties count half. Sorts both. */
double compare_superiority(uint64_t *a, size_t a_count, uint64_t *b, size_t b_count);
/* Probability of such a superiority under the null hypothesis (Mann-Whitney, normal approximation). */
double compare_rank_chance(double superiority, size_t a_count, size_t b_count);
/*
 * 99 % confidence interval of a quantile of bad over that of good values, from resampled sessions. Both are sorted.
 */
struct compare_interval compare_ratio_interval(const uint64_t *good, size_t good_count, const uint64_t *bad,
					       size_t bad_count, double quantile);
/* Probability of at least count events when `expected` are expected (Poisson). */
double compare_many_chance(uint32_t count, double expected);
/* The same for a set of k sessions, where the k was chosen. */
double compare_set_chance(double k, double expected);
/* Probability of at least that many bad sessions among those with the call, if both were independent (Fisher). */
double compare_chance(uint32_t bad_with, uint32_t bad, uint32_t good_with, uint32_t good);
