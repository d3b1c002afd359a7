/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Result of a comparison in one sentence. */
#include "flow/analyse/compare.h"
#include "view/format.h"

static void add_shares(struct buf *out, const struct comparison *c, const struct divergence *d)
{
	buf_add_format(out, "%u of %u bad and %u of %u good sessions", d->bad_sessions, c->profile->looked_at[1],
		       d->good_sessions, c->profile->looked_at[0]);
}

static void add_ratio_and_shares(struct buf *out, const struct comparison *c, const struct divergence *d)
{
	if (!isnan(d->ratio))
		buf_add_format(out, " (%.*f times as long)", d->ratio < 10 ? 1 : 0, d->ratio);
	buf_add_text(out, "; seen in ");
	add_shares(out, c, d);
}

static const char *times_of(double count)
{
	return count == 1 ? "time" : "times";
}

/* Call rate, per call of the caller unless that is a dispatcher. */
static void add_rates(struct buf *out, const struct comparison *c, const struct divergence *d)
{
	const struct profile_place *places = c->profile->places.items;
	uint32_t caller = places[d->place].parent;
	bool is_per_call = caller && !places[caller].is_dispatcher;

	if (is_per_call)
		buf_add_format(out, "%s calls %s ", compare_function(c, caller)->name, d->function);
	else
		buf_add_format(out, "%s is called ", d->function);
	format_add_number(out, d->bad_calls);
	buf_add_format(out, " %s in %s and ", times_of(d->bad_calls), is_per_call ? "bad sessions" : "a bad session");
	format_add_number(out, d->good_calls);
	buf_add_format(out, " %s in %s", times_of(d->good_calls), is_per_call ? "good ones" : "a good one");
	if (d->bad_calls > d->good_calls) {
		buf_add_text(out, " (");
		format_add_number(out, d->bad_calls / d->good_calls);
		buf_add_text(out, " times as often)");
	}
	buf_add_text(out, "; seen in ");
	add_shares(out, c, d);
}

void compare_answer(struct comparison *c)
{
	_cleanup_buf_ struct buf text = BUF_INIT(4096);
	const struct divergence *d = c->all.items;
	const struct divergence_frame *path;

	if (c->group[0].sessions && !c->group[1].sessions) {
		buf_add_format(&text, "no outliers among %u sessions; select sessions with --good or --bad",
			       c->group[0].sessions);
		c->answer_text = xstrdup(buf_text(&text));
		return;
	}
	if (!c->group[0].sessions) {
		buf_add_format(&text, "nothing to compare: %u good and %u bad sessions", c->group[0].sessions,
			       c->group[1].sessions);
		c->answer_text = xstrdup(buf_text(&text));
		return;
	}
	if (!c->all.count) {
		buf_add_format(&text, "no difference: %u good and %u bad sessions behave alike", c->group[0].sessions,
			       c->group[1].sessions);
		c->answer_text = xstrdup(buf_text(&text));
		return;
	}
	path = d->path.items;
	if (d->kind == DIVERGENCE_SLOWER && d->bad_call_ns) {
		buf_add_format(&text, "a call of %s takes ", d->function);
		format_add_duration(&text, (int64_t)d->bad_call_ns);
		buf_add_text(&text, " in bad sessions and ");
		format_add_duration(&text, (int64_t)d->good_call_ns);
		buf_add_text(&text, " in good ones");
		add_ratio_and_shares(&text, c, d);
	} else if (d->kind == DIVERGENCE_SLOWER) {
		buf_add_format(&text, "bad sessions spend ");
		format_add_duration(&text, (int64_t)d->bad_ns);
		buf_add_format(&text, " in %s, good ones ", d->function);
		format_add_duration(&text, (int64_t)d->good_ns);
		add_ratio_and_shares(&text, c, d);
	} else if (d->bad_calls > 0) {
		add_rates(&text, c, d);
	} else {
		buf_add_format(&text, "%s is called in ", d->function);
		add_shares(&text, c, d);
		if (d->path.count > 1)
			buf_add_format(&text, ", from %s", path[d->path.count - 2].function);
		if (d->instead)
			buf_add_format(&text, "; good sessions call %s instead", d->instead);
	}
	if (d->waits_in && strcmp(d->waits_in, d->function) != 0)
		buf_add_format(&text, "; the time is spent in %s", d->waits_in);
	c->answer_text = xstrdup(buf_text(&text));
}
