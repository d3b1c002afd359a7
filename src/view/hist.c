/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>

#include "base/text.h"
#include "view/format.h"
#include "view/hist.h"

static const struct field hist_slot_fields[] = {
	FIELD(struct hist_slot, lo, COUNT, "first value of the slot"),
	FIELD(struct hist_slot, hi, COUNT, "last value of the slot"),
	FIELD(struct hist_slot, count, COUNT, "how many values fell into it"),
};

RECORD_TYPE(hist_slot_type, "hist_slot", struct hist_slot, hist_slot_fields, "one slot of a histogram");

#define BAR_WIDTH   40u
#define COUNT_WIDTH 12

unsigned hist_log2_index(uint64_t value)
{
	return value == 0 ? 0 : 64 - (unsigned)__builtin_clzll(value);
}

struct hist_slot hist_log2_slot(unsigned index)
{
	if (index == 0)
		return (struct hist_slot){0, 0, 0};
	return (struct hist_slot){.lo = UINT64_C(1) << (index - 1),
				  .hi = index >= 64 ? UINT64_MAX : (UINT64_C(1) << index) - 1};
}

static void add_bound(struct buf *out, const struct field *field, uint64_t value)
{
	struct value v = {.class = VALUE_UINT, .uint = value};
	struct field plain = *field;

	/* Powers of two of a duration read well scaled; an exact count reads best as it is. */
	if (plain.kind == KIND_COUNT || plain.kind == KIND_ID) {
		buf_add_format(out, "%" PRIu64, value);
		return;
	}
	plain.unit = NULL;
	format_add_value(out, &plain, &v);
}

static void add_range(struct buf *out, const struct field *field, const struct hist_slot *slot)
{
	add_bound(out, field, slot->lo);
	if (slot->lo == slot->hi)
		return;
	buf_add_text(out, " .. ");
	if (slot->hi == UINT64_MAX)
		buf_add_text(out, "...");
	else
		add_bound(out, field, slot->hi);
}

/* What a narrow terminal leaves beside the range, the count, blanks and bars. */
static unsigned bar_width(const struct out *out, size_t range_width)
{
	size_t taken = range_width + 1 + COUNT_WIDTH + 3;

	return out->width == 0 ? BAR_WIDTH
			       : (unsigned)min_of(max_of(out->width - min_of(taken, (size_t)out->width), (size_t)10),
						  (size_t)BAR_WIDTH);
}

static void print_slot(struct out *out, const char *range, size_t width, const struct hist_slot *slot, uint64_t most)
{
	unsigned full = bar_width(out, width);
	unsigned bar = most ? (unsigned)((double)slot->count / (double)most * full + 0.5) : 0;

	/* A value that occurred is seen. */
	if (slot->count && bar == 0)
		bar = 1;
	buf_add_fill(&out->pending, ' ', width - min_of(width, text_columns(range, strlen(range))));
	buf_add_format(&out->pending, "%s %*" PRIu64 " |", range, COUNT_WIDTH, slot->count);
	buf_add_text(&out->pending, out_style_on(out, OUT_CYAN));
	buf_add_fill(&out->pending, '@', bar);
	buf_add_text(&out->pending, out_style_off(out, OUT_CYAN));
	buf_add_fill(&out->pending, ' ', full - bar);
	buf_add_char(&out->pending, '|');
	out_end_line(out);
}

uint64_t hist_percentile(const struct hist_slot *slots, size_t count, unsigned percent, uint64_t max)
{
	double all = 0, rank, before = 0;

	for (size_t i = 0; i < count; i++)
		all += (double)slots[i].count;
	rank = all * percent / 100;
	for (size_t i = 0; i < count; i++) {
		double here = (double)slots[i].count, hi = (double)min_of(slots[i].hi, max_of(max, slots[i].lo));

		if (here > 0 && before + here >= rank)
			return (uint64_t)((double)slots[i].lo + (hi - (double)slots[i].lo) * (rank - before) / here);
		before += here;
	}
	return max;
}

static void print_percentiles(struct out *out, const struct field *field, const struct hist_slot *slots, size_t count,
			      uint64_t max)
{
	static const unsigned percents[] = {50, 90, 99};
	uint64_t all = 0;

	for (size_t i = 0; i < count; i++)
		all += slots[i].count;
	buf_add_text(&out->pending, "count ");
	format_add_count(&out->pending, (int64_t)all);
	for (size_t i = 0; i < ARRAY_SIZE(percents); i++) {
		buf_add_format(&out->pending, ", p%u ~ ", percents[i]);
		add_bound(&out->pending, field, hist_percentile(slots, count, percents[i], max));
	}
	buf_add_text(&out->pending, ", max ");
	add_bound(&out->pending, field, max);
	out_end_line(out);
}

static void print_heading(struct out *out, const char *name, size_t width, uint64_t most)
{
	unsigned full = bar_width(out, width);

	buf_add_fill(&out->pending, ' ', width - strlen(name));
	buf_add_format(&out->pending, "%s %*s  DISTRIBUTION", name, COUNT_WIDTH, "COUNT");
	if (most > full) {
		buf_add_text(&out->pending, " (@ = ");
		format_add_number(&out->pending, (double)most / full);
		buf_add_char(&out->pending, ')');
	}
	out_end_line(out);
}

void hist_print(struct out *out, const struct field *field, const struct hist_slot *slots, size_t count, uint64_t max)
{
	_cleanup_buf_ struct buf range = BUF_INIT(256), name = BUF_INIT(256);
	size_t first = 0, width;
	uint64_t most = 0;

	format_add_heading(&name, field);
	while (first < count && slots[first].count == 0)
		first++;
	while (count > first && slots[count - 1].count == 0)
		count--;
	if (count == first) {
		buf_add_format(&out->pending, "No value of %s was seen.", buf_text(&name));
		out_end_line(out);
		return;
	}
	width = name.len;
	for (size_t i = first; i < count; i++) {
		buf_clear(&range);
		add_range(&range, field, &slots[i]);
		width = max_of(width, range.len);
		most = max_of(most, slots[i].count);
	}
	print_heading(out, buf_text(&name), width, most);
	for (size_t i = first; i < count; i++) {
		buf_clear(&range);
		add_range(&range, field, &slots[i]);
		print_slot(out, buf_text(&range), width, &slots[i], most);
	}
	print_percentiles(out, field, slots + first, count - first, max);
}
