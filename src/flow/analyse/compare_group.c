/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Selection of the groups: by expression, or by search for outliers. */
#include <errno.h>

#include "flow/analyse/compare.h"
#include "view/format.h"

/* Minimum score of a class: its distance in shape times log2 of its slowdown. */
#define ODD_LEAST 1.0
/* Minimum share of the highest score to count as the same kind. */
#define OUTLIER_SHARE 0.7
/* Waiting for a client is no fault of the program, unless it lasts at least this long. */
#define CLIENT_NS UINT64_C(1000000000)
/* Work can be preempted anywhere: this is more than a few time slices. */
#define OWN_NS UINT64_C(10000000)
/* Minimum sessions of a class before one of them can be slower than the others. */
#define CLASS_LEAST 16
#define OWN_LEAST   ((size_t)3)

static int parse(const char *text, struct expr **ret_expr, struct why *why)
{
	struct shape shape = SHAPE_OF(&flow_session_type);

	return text ? expr_parse(text, &shape, ret_expr, why) : 0;
}

int compare_label(const struct flow_sessions *s, const char *good, const char *bad, uint8_t *ret_group_of,
		  struct why *why)
{
	_cleanup_(expr_freep) struct expr *is_good = NULL, *is_bad = NULL;
	size_t count[2] = {};
	int r;

	r = parse(good, &is_good, why);
	if (r == 0)
		r = parse(bad, &is_bad, why);
	if (r < 0)
		return r;
	for (size_t i = 0; i < s->list.count; i++) {
		struct flow_session session = flow_session_at(s, i);
		struct record record = RECORD_OF(&session);
		bool matches_good = is_good ? expr_matches(is_good, &record) : !expr_matches(is_bad, &record);
		bool matches_bad = is_bad ? expr_matches(is_bad, &record) : !matches_good;

		/* A match of both excludes the session. */
		ret_group_of[i] = matches_good == matches_bad ? UINT8_MAX : matches_bad;
		count[0] += ret_group_of[i] == 0;
		count[1] += ret_group_of[i] == 1;
		spill_trim_at(i);
	}
	if (!count[0] || !count[1])
		return why_set(why, -ENODATA, "no %s session among %zu", count[0] ? "bad" : "good", s->list.count);
	return 0;
}

/* Durations of sessions, and the part that the program itself needed. */
struct durations {
	const struct flow_sessions *s;
	const struct profile_cells *cells;
};

static uint64_t span_ns(const struct durations *d, size_t index)
{
	return flow_row_span_ns(d->s, &d->s->list.items[index]);
}

/* Different requests have different costs: only a large class can have slow sessions. */
static uint64_t own_ns(const struct durations *d, size_t index)
{
	uint32_t class = d->s->list.items[index].class;

	return d->s->classes.items[class - 1].sessions < CLASS_LEAST
		       ? 0
		       : flow_span_ns(d->s->trace, d->cells->own_ticks.items[index]);
}

/* Median over all sessions. */
static uint64_t median_of(const struct durations *d, uint64_t (*time_of)(const struct durations *, size_t))
{
	flow_weighed_table times = {};
	uint64_t median;

	for (size_t i = 0; i < d->s->list.count; i++) {
		const struct flow_row *row = &d->s->list.items[i];

		spill_push(&times, (struct flow_weighed){time_of(d, i), flow_row_count(d->s, row), 0});
		spill_trim_at(i);
	}
	flow_weighed_sort(&times);
	median = flow_median(times.items, times.count);
	spill_done(&times);
	return median;
}

static double longer(uint64_t time, uint64_t median)
{
	return log2(max_of((double)time / (double)max_of(median, (uint64_t)1), 1.0));
}

/* By class, from 0: distance in shape times log2 of the slowdown. Different kinds of requests differ less in both. */
static double *scores_of(const struct durations *d)
{
	double *scores = xzalloc((d->s->classes.count + 1) * sizeof(*scores));
	uint64_t span = median_of(d, span_ns);

	for (size_t i = 1; i < d->s->classes.count; i++) {
		const struct flow_class *class = &d->s->classes.items[i];

		if (class->median_ns >= CLIENT_NS)
			scores[i] = class->apart * longer(class->median_ns, span);
	}
	return scores;
}

/*
 * Classes with a score close to the highest; or most similar to one of these, and as slow: misbehaving clients need not
 * all behave alike.
 */
static void mark_outliers(const struct flow_sessions *s, const double *scores, double most, bool *ret_is_outlier)
{
	for (size_t i = 1; i < s->classes.count; i++) {
		const struct flow_class *class = &s->classes.items[i];
		const struct flow_class *like = &s->classes.items[class->nearest - 1];

		ret_is_outlier[i] =
			scores[i] >= most * OUTLIER_SHARE ||
			(like < class && ret_is_outlier[class->nearest - 1] && class->median_ns >= like->median_ns / 4);
	}
}

/* By shape and time: a separate class that takes long. */
static size_t outlier_classes(const struct durations *d, uint8_t *group_of, struct buf *how)
{
	const struct flow_sessions *s = d->s;
	_cleanup_free_ bool *is_outlier = xzalloc(s->classes.count + 1);
	_cleanup_free_ double *scores = scores_of(d);
	double most = 0;
	size_t bad = 0;

	for (size_t i = 1; i < s->classes.count; i++)
		most = max_of(most, scores[i]);
	if (most < ODD_LEAST)
		return 0;
	mark_outliers(s, scores, most, is_outlier);
	for (size_t i = 0; i < s->list.count; i++) {
		group_of[i] = is_outlier[s->list.items[i].class - 1];
		bad += group_of[i];
		spill_trim_at(i);
	}
	buf_add_text(how, "sessions of class");
	for (size_t i = 1; i < s->classes.count; i++)
		if (is_outlier[i])
			buf_add_format(how, " %zu", i + 1);
	buf_add_text(how, " differ in shape and take longer than the rest");
	return bad;
}

/* By time alone: a gap of a factor of four or more, with few sessions above it. */
static size_t slow_sessions(const struct durations *d, uint64_t (*time_of)(const struct durations *, size_t),
			    uint64_t least, uint8_t *group_of, struct buf *how)
{
	const struct flow_sessions *s = d->s;
	SPILL(uint64_t) spans = {};
	uint64_t limit = 0;
	double widest = 4;
	size_t bad = 0;

	for (size_t i = 0; i < s->list.count; i++) {
		spill_push(&spans, time_of(d, i));
		spill_trim_at(i);
	}
	(void)compare_median(spans.items, spans.count);
	for (size_t i = spans.count / 2; i + 1 < spans.count; i++) {
		double step = (double)spans.items[i + 1] / (double)max_of(spans.items[i], (uint64_t)1000);

		if (step >= widest && spans.items[i + 1] >= least) {
			widest = step;
			limit = spans.items[i + 1];
		}
	}
	/* One or two preempted sessions are not significant; such long waits for a client are. */
	if (time_of == own_ns && limit && (spans.count < OWN_LEAST || spans.items[spans.count - OWN_LEAST] < limit))
		limit = 0;
	spill_done(&spans);
	for (size_t i = 0; limit && i < s->list.count; i++) {
		group_of[i] = time_of(d, i) >= limit;
		bad += group_of[i];
		spill_trim_at(i);
	}
	if (limit) {
		buf_add_text(how, time_of == own_ns ? "sessions that worked " : "sessions that took ");
		format_add_duration(how, (int64_t)limit);
		buf_add_text(how, " or more");
	}
	return bad;
}

/* Outliers in total waiting or working time. */
static size_t outlier_durations(const struct durations *d, uint8_t *group_of, struct compare_outlier *ret_outlier,
				bool as_client)
{
	_cleanup_buf_ struct buf how = BUF_INIT(4096);
	/* The duration of a session also depends on its client; its work does not. */
	size_t bad = as_client ? outlier_classes(d, group_of, &how) : 0;

	if (!bad)
		bad = as_client ? slow_sessions(d, span_ns, CLIENT_NS, group_of, &how)
				: slow_sessions(d, own_ns, OWN_NS, group_of, &how);
	if (bad)
		*ret_outlier = (struct compare_outlier){.how = xstrdup(buf_text(&how))};
	return bad;
}

int compare_find_outliers(struct flow_sessions *s, uint8_t *ret_group_of, struct compare_outlier *ret_outlier,
			  struct why *why)
{
	struct profile *profile = xzalloc(sizeof(*profile));
	struct profile_cells cells;
	size_t bad;

	*ret_outlier = (struct compare_outlier){};
	profile->trace = s->trace;
	profile_init(profile);
	profile_cells_fill(&cells, profile, &(struct profile_view){.sessions = s});
	bad = s->list.count < 2 ? 0
				: outlier_durations(&(struct durations){s, &cells}, ret_group_of, ret_outlier, true);
	if (!bad)
		bad = compare_outlier_find(s, profile, &cells, ret_group_of, ret_outlier);
	if (!bad && s->list.count >= 2)
		bad = outlier_durations(&(struct durations){s, &cells}, ret_group_of, ret_outlier, false);
	profile_cells_done(&cells);
	profile_free(profile);
	if (s->list.count < 2)
		return why_set(why, -ENODATA, "nothing to compare: %zu sessions", s->list.count);
	return bad ? 0
		   : why_set(why, -ENODATA, "no outliers among %zu sessions in %zu classes", s->list.count,
			     s->classes.count);
}

void compare_outlier_done(struct compare_outlier *outlier)
{
	free(outlier->how);
	vec_done(&outlier->path);
	*outlier = (struct compare_outlier){};
}
