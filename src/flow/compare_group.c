/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which sessions are compared with which: by expression, or found. */
#include <errno.h>

#include "flow/compare.h"
#include "view/format.h"

/* How much a class must stand out: its distance in shape times the binary logarithm of how much longer it takes. */
#define ODD_LEAST 1.0
/* And how much in comparison with the one that stands out most, to be counted among the same. */
#define ODD_SHARE 0.7

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

		/* Who fits both fits neither. */
		ret_group_of[i] = matches_good == matches_bad ? UINT8_MAX : matches_bad;
		count[0] += ret_group_of[i] == 0;
		count[1] += ret_group_of[i] == 1;
		spill_trim_at(i);
	}
	if (!count[0] || !count[1])
		return why_set(why, -ENODATA, "no session is %s (of %zu)", count[0] ? "bad" : "good", s->list.count);
	return 0;
}

/* Half of all sessions took no longer than this. */
static uint64_t median_span(const struct flow_sessions *s)
{
	flow_weighed_table spans = {};
	uint64_t median;

	for (size_t i = 0; i < s->list.count; i++) {
		const struct flow_row *row = &s->list.items[i];

		spill_push(&spans, (struct flow_weighed){flow_row_span_ns(s, row), flow_row_count(s, row), 0});
		spill_trim_at(i);
	}
	flow_weighed_sort(&spans);
	median = flow_median(spans.items, spans.count);
	spill_done(&spans);
	return median;
}

static double oddness(const struct flow_class *class, uint64_t median)
{
	double longer = (double)class->median_ns / (double)max_of(median, (uint64_t)1);

	return class->apart * log2(max_of(longer, 1.0));
}

/*
 * Whether a class stands out as much as the one that does most; or is most like one that does, and takes as long: those
 * who misbehave need not all do it in the same way.
 */
static void mark_odd(const struct flow_sessions *s, uint64_t median, double most, bool *ret_is_odd)
{
	for (size_t i = 1; i < s->classes.count; i++) {
		const struct flow_class *class = &s->classes.items[i];
		const struct flow_class *like = &s->classes.items[class->nearest - 1];

		ret_is_odd[i] =
			oddness(class, median) >= most * ODD_SHARE ||
			(like < class && ret_is_odd[class->nearest - 1] && class->median_ns >= like->median_ns / 4);
	}
}

/* By shape and time together: a class of its own that takes long. */
static size_t odd_classes(const struct flow_sessions *s, uint8_t *group_of, struct buf *how)
{
	_cleanup_free_ bool *is_odd = xzalloc(s->classes.count + 1);
	uint64_t median = median_span(s);
	double most = 0;
	size_t bad = 0;

	for (size_t i = 1; i < s->classes.count; i++)
		most = max_of(most, oddness(&s->classes.items[i], median));
	if (most < ODD_LEAST)
		return 0;
	mark_odd(s, median, most, is_odd);
	for (size_t i = 0; i < s->list.count; i++) {
		group_of[i] = is_odd[s->list.items[i].class - 1];
		bad += group_of[i];
		spill_trim_at(i);
	}
	buf_add_text(how, "sessions of class");
	for (size_t i = 1; i < s->classes.count; i++)
		if (is_odd[i])
			buf_add_format(how, " %zu", i + 1);
	buf_add_text(how, " have another shape and take longer than the rest");
	return bad;
}

static uint64_t busy_ns(const struct flow_sessions *s, const struct flow_row *row)
{
	return flow_span_ns(s->trace, row->busy_ticks);
}

/* By time alone: a gap of a factor of four or more, with few sessions above it. */
static size_t slow_sessions(const struct flow_sessions *s,
			    uint64_t (*time_of)(const struct flow_sessions *, const struct flow_row *),
			    uint8_t *group_of, struct buf *how)
{
	SPILL(uint64_t) spans = {};
	uint64_t limit = 0;
	double widest = 4;
	size_t bad = 0;

	for (size_t i = 0; i < s->list.count; i++) {
		spill_push(&spans, time_of(s, &s->list.items[i]));
		spill_trim_at(i);
	}
	(void)compare_median(spans.items, spans.count);
	for (size_t i = spans.count / 2; i + 1 < spans.count; i++) {
		double step = (double)spans.items[i + 1] / (double)max_of(spans.items[i], (uint64_t)1000);

		if (step >= widest && spans.items[i + 1] >= 1000000) {
			widest = step;
			limit = spans.items[i + 1];
		}
	}
	spill_done(&spans);
	for (size_t i = 0; limit && i < s->list.count; i++) {
		group_of[i] = time_of(s, &s->list.items[i]) >= limit;
		bad += group_of[i];
		spill_trim_at(i);
	}
	if (limit) {
		buf_add_text(how, time_of == busy_ns ? "sessions that worked " : "sessions that took ");
		format_add_duration(how, (int64_t)limit);
		buf_add_text(how, " or more");
	}
	return bad;
}

int compare_find_odd(const struct flow_sessions *s, uint8_t *ret_group_of, char **ret_how, struct why *why)
{
	_cleanup_buf_ struct buf how = BUF_INIT(4096);

	if (s->list.count < 2)
		return why_set(why, -ENODATA, "there is nothing to compare: %zu sessions", s->list.count);
	/* How long a session takes depends on its client, too; what is done for it does not. */
	if (!odd_classes(s, ret_group_of, &how) && !slow_sessions(s, flow_row_span_ns, ret_group_of, &how) &&
	    !slow_sessions(s, busy_ns, ret_group_of, &how))
		return why_set(why, -ENODATA, "no sessions stand out: %zu of them in %zu classes, none much slower",
			       s->list.count, s->classes.count);
	*ret_how = xstrdup(buf_text(&how));
	return 0;
}
