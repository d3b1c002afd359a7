/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A summary as records and as tables. */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "event/core/packet_names.h"
#include "path/sum/summary.h"
#include "view/format.h"
#include "view/list.h"

static struct enum_name stage_items[PATH_STAGES];

static void load_stages(struct enum_names *names)
{
	stage_items[0] = (struct enum_name){0, "total", "the entire journey"};
	for (unsigned i = 1; i < PATH_STAGES; i++)
		stage_items[i] = (struct enum_name){i, path_stages[i].name, path_stages[i].help};
	names->items = stage_items;
	names->count = ARRAY_SIZE(stage_items);
}
static struct enum_names row_stage_names = {.load = load_stages};

#define R struct stage_row
#define STAGE_FIELDS                                                                                                   \
	FIELD(R, stage, ENUM, "stage of the path; total: the entire journey", .names = &row_stage_names),              \
		FIELD(R, count, COUNT, "journeys with this stage"),                                                    \
		FIELD(R, share, RATIO, "share of the total time of these journeys", .unit = "%"),                      \
		FIELD(R, p50_ns, DURATION, "median (50th percentile)"), FIELD(R, p90_ns, DURATION, "90th percentile"), \
		FIELD(R, p99_ns, DURATION, "99th percentile"), FIELD(R, max_ns, DURATION, "maximum"),                  \
		FIELD(R, tail_share, RATIO, "share of the difference between the slowest 1 % and the fastest half",    \
		      .unit = "%")

static const struct field table_fields[] = {
	STAGE_FIELDS,
	FIELD(R, spread, TEXT, "inline histogram; each column doubles the duration"),
};
static RECORD_TYPE(table_type, "stage_table", struct stage_row, table_fields, "one stage over many journeys");

static const struct field row_fields[] = {
	STAGE_FIELDS,
	FIELD(R, owner, BOOL, "whether this stage is the main cause of the tail (slowest 1 %)"),
	FIELD(R, sum_ns, DURATION, "total time of the stage"),
	FIELD(R, hist, LIST, "distribution by powers of two", .element = &hist_slot_type),
};
RECORD_TYPE(stage_row_type, "path_stage", struct stage_row, row_fields, "one stage over many journeys");
#undef R

/* Width of the other columns with long figures. */
#define OTHER_COLUMNS 66

/* --- rows --------------------------------------------------------------------------------------------------------- */

/* Rounds away meaningless digits, and never to minus zero. */
static double to_figures(double share, double parts)
{
	return round(share * parts) / parts + 0.0;
}

static void fill_row(struct stage_row *row, const struct spread *spread, const struct summary_group *group)
{
	row->count = spread->count;
	row->sum_ns = spread->sum;
	row->share = group->total.sum ? to_figures((double)spread->sum / (double)group->total.sum, 1e4) : NAN;
	row->p50_ns = spread_quantile(spread, 0.5);
	row->p90_ns = spread_quantile(spread, 0.9);
	row->p99_ns = spread_quantile(spread, 0.99);
	row->max_ns = spread->max;
	row->tail_share = NAN;
}

static void fill_unseen(struct stage_row *row)
{
	*row = (struct stage_row){.stage = row->stage,
				  .count = UINT64_MAX,
				  .share = NAN,
				  .sum_ns = UINT64_MAX,
				  .p50_ns = UINT64_MAX,
				  .p90_ns = UINT64_MAX,
				  .p99_ns = UINT64_MAX,
				  .max_ns = UINT64_MAX,
				  .tail_share = NAN};
}

static const struct spread *spread_of(const struct summary_group *group, uint8_t stage)
{
	return stage ? &group->stages[stage] : &group->total;
}

/* Octaves shown as columns of the inline histograms; returns how many. */
static unsigned choose_octaves(const struct stage_rows *rows, unsigned *octaves)
{
	unsigned count = 0;

	if (rows->with_zero)
		octaves[count++] = 0;
	for (unsigned i = rows->first_octave; i < rows->end_octave; i++)
		octaves[count++] = i;
	return count;
}

/* Merges slots; zero stays separate. Returns how many are left. */
static unsigned join_slots(const struct stage_rows *rows, const struct hist_slot *slots, unsigned count,
			   struct hist_slot *ret_slots)
{
	unsigned zero = rows->with_zero, joined = zero;

	for (unsigned i = 0; i < count; i++) {
		unsigned at = i < zero ? i : zero + (i - zero) / rows->step;

		if (at >= joined || i < zero) {
			ret_slots[at] = slots[i];
			joined = max_of(joined, at + 1);
		} else {
			ret_slots[at].count += slots[i].count;
		}
	}
	return joined;
}

/* One character per column; any non-zero count is visible. */
static void draw_spread(struct stage_row *row, const struct hist_slot *slots, unsigned count, bool utf8)
{
	static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const letters[] = {" ", ".", ".", ":", ":", "+", "+", "#", "#"};
	uint64_t most = 1;
	char *at = row->spread;

	for (unsigned i = 0; i < count; i++)
		most = max_of(most, slots[i].count);
	for (unsigned i = 0; i < count; i++) {
		double level = (double)slots[i].count * 8 / (double)most;
		unsigned step = slots[i].count ? max_of((unsigned)(level + 0.5), 1u) : 0;
		const char *mark = (utf8 ? blocks : letters)[step];

		memcpy(at, mark, strlen(mark));
		at += strlen(mark);
	}
	while (at > row->spread && at[-1] == ' ')
		*--at = '\0';
}

static void draw_spreads(const struct summary_group *group, bool utf8, struct stage_rows *rows)
{
	struct hist_slot slots[SPREAD_OCTAVES], columns[SPREAD_OCTAVES];
	unsigned octaves[SPREAD_OCTAVES], count = choose_octaves(rows, octaves);

	vec_each(&rows->rows, row) {
		if (row->count == UINT64_MAX)
			continue;
		(void)spread_octaves(spread_of(group, row->stage), slots);
		for (unsigned i = 0; i < count; i++)
			slots[i] = slots[octaves[i]];
		draw_spread(row, columns, join_slots(rows, slots, count, columns), utf8);
		/* Index for now: the vector may still move. */
		row->hist = (struct list){NULL, count};
		for (unsigned i = 0; i < count; i++)
			vec_push(&rows->slots, slots[i]);
	}
}

/* A zero duration must not shift the others to the right. */
static void widen(struct stage_rows *rows, const struct spread *spread)
{
	struct hist_slot slots[SPREAD_OCTAVES];
	unsigned end = spread_octaves(spread, slots), first = 1;

	rows->with_zero |= slots[0].count > 0;
	while (first < end && slots[first].count == 0)
		first++;
	if (first >= end)
		return;
	rows->first_octave = min_of(rows->first_octave, first);
	rows->end_octave = max_of(rows->end_octave, end);
}

static void add_row(const struct summary_group *group, uint8_t stage, struct stage_rows *rows)
{
	const struct spread *spread = spread_of(group, stage);
	struct stage_row row = {.stage = stage};

	if (spread->count) {
		fill_row(&row, spread, group);
		widen(rows, spread);
	} else if (group->hidden[stage]) {
		fill_unseen(&row);
	} else {
		return;
	}
	vec_push(&rows->rows, row);
}

/* Octaves per column so that all fit. */
static unsigned choose_step(const struct stage_rows *rows, unsigned columns)
{
	unsigned octaves = rows->end_octave > rows->first_octave ? rows->end_octave - rows->first_octave : 0;
	unsigned zero = rows->with_zero ? 1 : 0, room = columns > zero ? columns - zero : 1;

	return columns ? max_of((octaves + room - 1) / room, 1u) : 1;
}

void summary_rows(const struct summary_group *group, const struct stage_look *look, struct stage_rows *ret_rows)
{
	const uint8_t *order = path_order(summary_dir(group));
	struct stage_rows rows = {.first_octave = SPREAD_OCTAVES};
	struct tail_verdict verdict;
	size_t at = 0;

	for (unsigned i = 0; i < PATH_ORDER_COUNT; i++)
		add_row(group, order[i], &rows);
	add_row(group, 0, &rows);
	if (tail_judge(&group->tail, &verdict))
		vec_each(&rows.rows, row)
			if (row->stage && row->count != UINT64_MAX) {
				/* A stage in which slow ones are quicker explains nothing. */
				row->tail_share = to_figures(fmin(fmax(verdict.shares[row->stage], 0), 1), 1e3);
				row->owner = row->stage == verdict.owner;
			}
	rows.step = choose_step(&rows, look->columns);
	draw_spreads(group, look->utf8, &rows);
	vec_each(&rows.rows, row)
		if (row->hist.count) {
			row->hist.items = rows.slots.items + at;
			at += row->hist.count;
		}
	*ret_rows = rows;
}

void stage_rows_done(struct stage_rows *rows)
{
	vec_done(&rows->rows);
	vec_done(&rows->slots);
}

struct shape summary_shape(const struct summary *summary)
{
	static struct record_type keys;

	keys = (struct record_type){.name = "path_group",
				    .help = "group keys of --by",
				    .fields = summary->keys.fields.items,
				    .field_count = (uint32_t)summary->keys.fields.count,
				    .size = summary->keys.size};
	return (struct shape){.count = 2, .types = {&keys, &stage_row_type}};
}

/* --- text --------------------------------------------------------------------------------------------------------- */

void summary_add_ends(const uint64_t *ends, struct buf *out)
{
	bool any = false;

	for (unsigned i = 0; i <= PATH_UNFINISHED; i++) {
		const char *name = enum_name_find(&path_end_names, i);

		if (ends[i] == 0)
			continue;
		buf_add_format(out, "%s%" PRIu64 " %s", any ? ", " : "", ends[i], name ?: "with unknown end");
		any = true;
	}
}

void summary_add_title(const struct summary *summary, const struct summary_group *group, struct buf *out)
{
	for (size_t i = 0; i < summary->keys.fields.count; i++) {
		const struct field *field = &summary->keys.fields.items[i];
		struct value value = value_get(field, group->key);

		if (i == 0 && value.class == VALUE_UINT) {
			buf_add_text(out, value.uint == PACKET_TX ? "transmit" : "receive");
			continue;
		}
		buf_add_format(out, ", %s ", field->name);
		format_add_value(out, field, &value);
	}
}

void summary_add_heading(const struct summary *summary, const struct summary_group *group, struct buf *out)
{
	summary_add_title(summary, group, out);
	buf_add_format(out, ": %" PRIu64 " journey%s (", group->total.count, group->total.count == 1 ? "" : "s");
	summary_add_ends(group->ends, out);
	buf_add_char(out, ')');
}

static void print_line(struct out *out, enum out_style style, const char *text)
{
	buf_add_text(&out->pending, out_style_on(out, style));
	out_add_folded(out, text, 0, "   ");
	buf_add_text(&out->pending, out_style_off(out, style));
	out_end_line(out);
}

/* Stages never traced, then those that only some journeys show. */
void summary_add_unseen(const struct summary_group *group, struct buf *out)
{
	const uint8_t *order = path_order(summary_dir(group));
	const char *before = "not visible: ";

	for (unsigned i = 0; i < PATH_ORDER_COUNT; i++)
		if (group->hidden[order[i]] && !group->stages[order[i]].count) {
			buf_add_format(out, "%s%s", before, path_stages[order[i]].name);
			before = ", ";
		}
	before = out->len ? "; in some journeys: " : "not visible in some journeys: ";
	for (unsigned i = 0; i < PATH_ORDER_COUNT; i++)
		if (group->hidden[order[i]] && group->stages[order[i]].count) {
			buf_add_format(out, "%s%s (%" PRIu64 ")", before, path_stages[order[i]].name,
				       group->hidden[order[i]]);
			before = ", ";
		}
}

static void add_legend(const struct stage_rows *rows, struct buf *out)
{
	bool any = rows->end_octave > rows->first_octave;

	buf_add_text(out, rows->with_zero ? "spread: zero" : "spread:");
	if (!any)
		return;
	buf_add_text(out, rows->with_zero ? ", then from " : " from ");
	format_add_duration(out, (int64_t)hist_log2_slot(rows->first_octave).lo);
	buf_add_text(out, " to ");
	format_add_duration(out, (int64_t)hist_log2_slot(rows->end_octave - 1).hi);
	if (rows->step == 1)
		buf_add_text(out, ", each column twice the one before");
	else
		buf_add_format(out, ", each column %u times the one before", 1u << min_of(rows->step, 31u));
}

static void print_group(const struct summary *summary, const struct summary_group *group, struct out *out)
{
	_cleanup_buf_ struct buf title = BUF_INIT(4096), words = BUF_INIT(4096), unseen = BUF_INIT(4096);
	struct stage_look look = {.utf8 = out->utf8};
	struct stage_rows rows;

	if (out->width)
		look.columns = out->width > OTHER_COLUMNS ? out->width - OTHER_COLUMNS : 1;
	summary_add_heading(summary, group, &title);
	print_line(out, OUT_BOLD, buf_text(&title));
	tail_add_words(&words, &group->tail);
	print_line(out, OUT_PLAIN, buf_text(&words));
	summary_rows(group, &look, &rows);
	list_print(out, &table_type, &(struct list){rows.rows.items, (uint32_t)rows.rows.count});
	buf_clear(&words);
	add_legend(&rows, &words);
	print_line(out, OUT_DIM, buf_text(&words));
	summary_add_unseen(group, &unseen);
	if (unseen.len)
		print_line(out, OUT_DIM, buf_text(&unseen));
	stage_rows_done(&rows);
}

void summary_print(const struct summary *summary, struct out *out)
{
	_cleanup_buf_ struct buf words = BUF_INIT(256);

	vec_each(&summary->groups, group) {
		if (group != summary->groups.items)
			out_end_line(out);
		print_group(summary, *group, out);
	}
	if (summary->ungrouped) {
		buf_add_format(&words, "%" PRIu64 " journey%s of other groups not shown: limit is %d groups",
			       summary->ungrouped, text_plural(summary->ungrouped), SUMMARY_GROUPS_MAX);
		print_line(out, OUT_RED, buf_text(&words));
	}
}
