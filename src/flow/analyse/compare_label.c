/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The groups of a comparison, by expression. */
#include <errno.h>

#include "flow/analyse/compare.h"

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
