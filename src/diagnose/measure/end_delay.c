/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "diagnose/measure/end_delay.h"

/* Clocks drift apart by 50 ms in this time where they are worst (80 ppm). */
#define BASE_NS UINT64_C(600000000000)

/* When an end reached a position. */
struct reached {
	uint64_t position;
	uint64_t early_ns, late_ns;
};

static uint64_t position_of(const struct end_sample *s, enum end_delay_kind kind, bool arrival)
{
	if (kind == END_DELAY_DATA)
		return arrival ? s->received : s->sent;
	return arrival ? s->acked : s->received;
}

static uint64_t moment_of(const struct end_sample *s, enum end_delay_kind kind, bool arrival)
{
	if (kind == END_DELAY_DATA)
		return arrival ? s->last_received_ns : s->last_sent_ns;
	return arrival ? s->last_ack_ns : s->last_received_ns;
}

/*
 * Sample i of a side. The kernel's moment of the last segment is when the position was reached, unless segments were
 * retransmitted since the sample before; otherwise that was between the two samples. False: not known, or no progress.
 */
static bool reached_at(const struct end_history *history, enum end_delay_kind kind, bool arrival, bool clean, size_t i,
		       struct reached *ret_reached)
{
	const struct end_sample *s = &history->samples.items[i], *before = i > 0 ? s - 1 : NULL;
	uint64_t position = position_of(s, kind, arrival), moment_ns = moment_of(s, kind, arrival);

	if (!before || position == UINT64_MAX || position_of(before, kind, arrival) >= position)
		return false;
	*ret_reached = (struct reached){position, before->time_ns, s->time_ns};
	if (clean && s->retrans_segs == before->retrans_segs && moment_ns >= before->time_ns &&
	    moment_ns <= s->time_ns) {
		ret_reached->early_ns = max_of(moment_ns - END_TICK_NS, before->time_ns);
		ret_reached->late_ns = moment_ns;
	}
	return true;
}

/* The first sample of a side at or beyond a position. */
static size_t find_beyond(const struct end_history *history, enum end_delay_kind kind, uint64_t position)
{
	size_t low = 0, high = history->samples.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (position_of(&history->samples.items[middle], kind, false) < position)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* When the side that it comes from was at a position: for certain, and in proportion to the bytes between samples. */
static bool departure(const struct end_history *history, enum end_delay_kind kind, uint64_t position, bool clean,
		      struct reached *ret_reached, uint64_t *ret_likely_ns)
{
	size_t i = find_beyond(history, kind, position);
	uint64_t before, begin_ns;
	struct reached at;

	if (i == 0 || i == history->samples.count || !reached_at(history, kind, false, clean, i, &at))
		return false;
	begin_ns = history->samples.items[i - 1].time_ns;
	before = position_of(&history->samples.items[i - 1], kind, false);
	if (at.position == position) {
		*ret_reached = at;
		*ret_likely_ns = at.late_ns;
		return true;
	}
	*ret_reached = (struct reached){position, begin_ns, at.late_ns};
	*ret_likely_ns = begin_ns + (uint64_t)((double)(at.late_ns - begin_ns) * (double)(position - before) /
					       (double)(at.position - before));
	return true;
}

/* Whether nothing was retransmitted about when a position was sent: moments at the other end may be of a copy. */
static bool is_clean(const struct end_history *sender, enum end_delay_kind kind, size_t arrival, uint64_t position)
{
	size_t count = sender->samples.count,
	       i = kind == END_DELAY_DATA ? find_beyond(sender, kind, position) : arrival;
	size_t first = i > 2 ? i - 2 : 0, last = min_of(i + 2, count - 1);

	return count > 0 && sender->samples.items[first].retrans_segs == sender->samples.items[last].retrans_segs;
}

/* Sample i of the side where it arrives. */
static bool delay_at(const struct end_pair *pair, enum end_side from, enum end_delay_kind kind, size_t i,
		     struct end_delay *ret_delay)
{
	const struct end_history *source = &pair->sides[from], *target = &pair->sides[!from];
	uint64_t position = position_of(&target->samples.items[i], kind, true), likely_ns;
	bool clean = is_clean(kind == END_DELAY_DATA ? source : target, kind, i, position);
	struct reached arrived, left;

	if (!reached_at(target, kind, true, clean, i, &arrived) ||
	    !departure(source, kind, position, clean, &left, &likely_ns))
		return false;
	*ret_delay = (struct end_delay){
		.mean = (double)(int64_t)(arrived.late_ns - likely_ns),
		.low = (double)(int64_t)(arrived.early_ns - left.late_ns),
		.high = (double)(int64_t)(arrived.late_ns - left.early_ns),
	};
	return true;
}

bool end_pair_delay(const struct end_pair *pair, enum end_side from, enum end_delay_kind kind, uint64_t begin_ns,
		    uint64_t end_ns, struct end_delay *ret_delay)
{
	const struct end_history *target = &pair->sides[!from];
	const struct end_sample *first = end_history_at(target, begin_ns);
	size_t i = first ? (size_t)(first - target->samples.items) + 1 : 0;
	struct end_delay sum = {};
	unsigned count = 0;

	for (; !pair->reused && i < target->samples.count && target->samples.items[i].time_ns <= end_ns; i++) {
		struct end_delay one;

		if (!delay_at(pair, from, kind, i, &one))
			continue;
		sum.mean += one.mean;
		sum.low += one.low;
		sum.high += one.high;
		count++;
	}
	if (count == 0)
		return false;
	*ret_delay = (struct end_delay){sum.mean / count, sum.low / count, sum.high / count};
	return true;
}

/* What is beyond a year is no delay. */
static double limited(double ns)
{
	return max_of(min_of(ns, 3e16), -3e16);
}

bool end_delay_base_note(struct end_delay_base *base, enum end_delay_kind kind, const struct end_delay *now,
			 uint64_t time_ns, struct end_delay_change *ret_change)
{
	bool known = base->time_ns && base->kind == kind && time_ns - base->time_ns < BASE_NS;
	double change, low, high;

	if (known) {
		change = limited(now->mean - base->lowest.mean);
		low = limited(now->low - base->lowest.high);
		high = limited(now->high - base->lowest.low);
		ret_change->change_ns = (int64_t)change;
		ret_change->error_ns = (uint64_t)max_of(max_of(high - change, change - low), 0.0);
	}
	if (!known || now->high < base->lowest.high)
		*base = (struct end_delay_base){*now, time_ns, kind};
	return known;
}
