/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>

#include "base/alloc.h"
#include "path/sum/spread.h"
#include "path/sum/tail.h"
#include "view/format.h"

/* Minimum for a slowest 1 %. */
#define JOURNEYS_MIN 10
/* Minimum ratio of slow to usual; below it there is no tail. */
#define TAIL_RATIO 1.5

void tail_add(struct tail *tail, const struct journey *journey)
{
	unsigned number = spread_slot(journey->total_ns);
	struct tail_slot *slot;

	if (!tail->slots)
		tail->slots = xzalloc(SPREAD_SLOTS * sizeof(struct tail_slot *));
	if (!tail->slots[number])
		tail->slots[number] = xzalloc(sizeof(struct tail_slot));
	slot = tail->slots[number];
	tail->count++;
	slot->count++;
	slot->total_ns += journey->total_ns;
	for (uint32_t i = 0; i < journey->stage_count; i++)
		if (journey->stages[i].stage < PATH_STAGES)
			slot->ns[journey->stages[i].stage] += journey->stages[i].ns;
}

void tail_done(struct tail *tail)
{
	for (unsigned i = 0; tail->slots && i < SPREAD_SLOTS; i++)
		free(tail->slots[i]);
	free(tail->slots);
	*tail = (struct tail){};
}

static void slot_merge(struct tail_slot *sum, const struct tail_slot *slot)
{
	sum->count += slot->count;
	sum->total_ns += slot->total_ns;
	for (unsigned i = 0; i < PATH_STAGES; i++)
		sum->ns[i] += slot->ns[i];
}

/* The fastest half and the slowest 1 %; they share no slot. */
static bool split(const struct tail *tail, struct tail_slot *usual, struct tail_slot *slow)
{
	uint64_t half = (tail->count + 1) / 2, hundredth = (tail->count + 99) / 100;
	int low = 0, high = SPREAD_SLOTS - 1;

	for (; low < SPREAD_SLOTS && usual->count < half; low++)
		if (tail->slots[low])
			slot_merge(usual, tail->slots[low]);
	for (; high >= low && slow->count < hundredth; high--)
		if (tail->slots[high])
			slot_merge(slow, tail->slots[high]);
	return slow->count > 0;
}

static double mean(uint64_t ns, uint64_t count)
{
	return (double)ns / (double)count;
}

bool tail_judge(const struct tail *tail, struct tail_verdict *ret_verdict)
{
	struct tail_slot usual = {}, slow = {};
	struct tail_verdict verdict = {};
	double longer;

	if (tail->count < JOURNEYS_MIN || !split(tail, &usual, &slow))
		return false;
	longer = mean(slow.total_ns, slow.count) - mean(usual.total_ns, usual.count);
	verdict.slow = slow.count;
	verdict.slow_ns = slow.total_ns / slow.count;
	verdict.usual_ns = usual.total_ns / usual.count;
	for (unsigned i = 1; i < PATH_STAGES; i++) {
		verdict.shares[i] = (mean(slow.ns[i], slow.count) - mean(usual.ns[i], usual.count)) / longer;
		if (verdict.shares[i] > verdict.shares[verdict.owner])
			verdict.owner = (uint8_t)i;
	}
	if ((double)verdict.slow_ns < TAIL_RATIO * (double)verdict.usual_ns)
		verdict.owner = 0;
	*ret_verdict = verdict;
	return true;
}

void tail_add_words(struct buf *out, const struct tail *tail)
{
	struct tail_verdict verdict;

	if (!tail_judge(tail, &verdict)) {
		buf_add_text(out, tail->count < JOURNEYS_MIN ? "too few journeys to compare slow with normal ones"
							     : "no tail: all take about the same time");
		return;
	}
	if (verdict.slow == 1)
		buf_add_format(out, "slowest of %" PRIu64 ": ", tail->count);
	else
		buf_add_format(out, "slowest %" PRIu64 " of %" PRIu64 ": ", verdict.slow, tail->count);
	format_add_duration(out, (int64_t)verdict.slow_ns);
	buf_add_text(out, " (fastest half: ");
	format_add_duration(out, (int64_t)verdict.usual_ns);
	if (!verdict.owner) {
		buf_add_text(out, "); no tail");
		return;
	}
	buf_add_format(out, "); %s is ", path_stages[verdict.owner].name);
	format_add_share(out, min_of(verdict.shares[verdict.owner], 1.0));
	buf_add_text(out, " of the difference");
}
