/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Result of a comparison in one sentence. */
#include "base/text.h"
#include "flow/analyse/compare.h"
#include "view/format.h"

/* Larger ratios are of a time that good sessions hardly spend. */
#define RATIO_MOST 1000

static void add_shares(struct buf *out, const struct comparison *c, const struct divergence *d)
{
	buf_add_format(out, "%u of %u bad and %u of %u good sessions", d->bad_sessions, c->profile->looked_at[1],
		       d->good_sessions, c->profile->looked_at[0]);
}

static void add_ratio_and_shares(struct buf *out, const struct comparison *c, const struct divergence *d)
{
	if (!isnan(d->ratio) && d->ratio < RATIO_MOST) {
		buf_add_format(out, " (%.*f times as long", d->ratio < 10 ? 1 : 0, d->ratio);
		if (d->ratio_low > 0)
			buf_add_format(out, "; 99 %% confidence interval %.1f to %.1f", d->ratio_low, d->ratio_high);
		buf_add_text(out, ")");
	}
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

/* Several functions of the traces may have the name: where this one is. */
static void add_name(struct buf *out, const struct comparison *c, const struct divergence *d)
{
	uint32_t fn = c->profile->places.items[d->place].fn;
	bool is_clear = true;

	for (size_t i = 0; i < c->function_count && is_clear; i++)
		is_clear = c->functions[i] == c->functions[fn] || strcmp(c->functions[i]->name, d->function) != 0 ||
			   (c->functions[i]->offset == d->address && c->functions[i]->file == d->file);
	buf_add_text(out, d->function);
	if (!is_clear && d->file && d->line)
		buf_add_format(out, " (%s:%u)", d->file, d->line);
	else if (!is_clear && d->file)
		buf_add_format(out, " (%s)", d->file);
	else if (!is_clear)
		buf_add_format(out, " (%s+0x%llx)", d->module, (unsigned long long)d->address);
}

/* Groups that are empty, or do not differ; false: they do. */
static bool add_nothing(struct buf *out, const struct comparison *c)
{
	if (!c->group[1].sessions && c->how)
		buf_add_text(out, c->how);
	else if (!c->group[0].sessions || !c->group[1].sessions)
		buf_add_format(out, "nothing to compare: %u good and %u bad sessions", c->group[0].sessions,
			       c->group[1].sessions);
	else if (!c->all.count)
		buf_add_format(out,
			       "no difference beyond what good sessions show among themselves: %u good and %u bad "
			       "sessions compared at %zu place%s",
			       c->group[0].sessions, c->group[1].sessions, c->profile->places.count - 1,
			       text_plural(c->profile->places.count - 1));
	else
		return false;
	return true;
}

static void add_slower(struct buf *out, const struct comparison *c, const struct divergence *d)
{
	static const char *const what[] = {
		[PROFILE_OWN] = "spend",
		[PROFILE_DRIP] = "wait for the client to send",
		[PROFILE_STALL] = "wait for the client to read",
		[PROFILE_CPU] = "compute for",
		[PROFILE_TIMES] = "spend",
	};

	if (d->bad_call_ns) {
		buf_add_text(out, "a call of ");
		add_name(out, c, d);
		buf_add_text(out, " takes ");
		format_add_duration(out, (int64_t)d->bad_call_ns);
		buf_add_text(out, " in bad sessions and ");
		format_add_duration(out, (int64_t)d->good_call_ns);
		buf_add_text(out, " in good ones");
	} else {
		buf_add_format(out, "bad sessions %s ", what[min_of(d->time, (uint8_t)PROFILE_TIMES)]);
		format_add_duration(out, (int64_t)d->bad_ns);
		buf_add_text(out, " in ");
		add_name(out, c, d);
		buf_add_text(out, ", good ones ");
		format_add_duration(out, (int64_t)d->good_ns);
	}
	add_ratio_and_shares(out, c, d);
}

static void add_call(struct buf *out, const struct comparison *c, const struct divergence *d)
{
	const struct divergence_frame *path = d->path.items;

	add_name(out, c, d);
	buf_add_text(out, " is called in ");
	add_shares(out, c, d);
	if (d->path.count > 1)
		buf_add_format(out, ", from %s", path[d->path.count - 2].function);
	if (d->instead)
		buf_add_format(out, "; good sessions call %s instead", d->instead);
	if (d->confidence <= 0.1)
		buf_add_text(out, " (other sessions of the trace also differ in this call)");
}

static void add_left(struct buf *out, const struct comparison *c, const struct divergence *d)
{
	buf_add_text(out, "bad sessions leave ");
	add_name(out, c, d);
	buf_add_format(out, " before it calls %s, which is called in ", d->before);
	add_shares(out, c, d);
}

void compare_answer(struct comparison *c)
{
	_cleanup_buf_ struct buf text = BUF_INIT(4096);
	const struct divergence *d = c->all.items;

	if (!add_nothing(&text, c)) {
		if (d->kind == DIVERGENCE_SLOWER)
			add_slower(&text, c, d);
		else if (d->bad_calls > 0)
			add_rates(&text, c, d);
		else if (d->kind == DIVERGENCE_LEFT)
			add_left(&text, c, d);
		else
			add_call(&text, c, d);
		if (d->waits_in && strcmp(d->waits_in, d->function) != 0)
			buf_add_format(&text, "; the time is spent in %s", d->waits_in);
	}
	c->answer_text = xstrdup(buf_text(&text));
}
