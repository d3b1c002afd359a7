/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "event/core/filter.h"
#include "tool/core/aggregate.h"

/* Limits memory. */
#define GROUPS_MAX 1000000

/* The figures of a row; they follow the keys. */
struct figures {
	uint64_t count;
	int64_t sum;
	int64_t min;
	int64_t max;
	int64_t avg;
	double avg_real;
	struct list hist;
	uint64_t time_ns;
	int64_t sums[AGGREGATE_EVENTS_MAX]; /* per event, or of additional fields */
	uint64_t count_rate;
	uint64_t sum_rate;
	double share;
	int64_t p50, p99;
	uint64_t classes[AGGREGATE_CLASSES_MAX];
};

struct refs {
	struct field_ref value;
	struct field_ref keys[EVENT_KEYS_MAX];
	struct field_ref adds[EVENT_ADDS_MAX];
};

struct aggregate {
	struct aggregate_spec spec;
	size_t key_count;
	struct refs *refs; /* one per request */
	struct row_layout layout;
	uint32_t key_size;
	struct record_type type;
	struct field value_field; /* of the first event that has it */
	struct map groups;        /* keys -> struct event_group */
	uint64_t lost;
	uint64_t span_ns;
	VEC(struct hist_slot) slots; /* of the rows passed to the caller */
};

enum event_mode aggregate_mode(const struct aggregate_spec *spec)
{
	switch (spec->kind) {
	case AGGREGATE_NONE:
		return EVENT_STREAM;
	case AGGREGATE_COUNT:
		return EVENT_COUNT;
	case AGGREGATE_HIST:
		return EVENT_LOG2;
	case AGGREGATE_LHIST:
		return EVENT_LINEAR;
	default:
		return EVENT_SUM;
	}
}

unsigned aggregate_slot_count(const struct aggregate_spec *spec)
{
	return spec->kind == AGGREGATE_LHIST ? (unsigned)((spec->last - spec->first + spec->step - 1) / spec->step) : 0;
}

/* --- the type of the rows ----------------------------------------------------------------------------------------- */

/* Sums and extremes have the kind of the value; IDs become plain counts. */
static struct field figure_field(const struct aggregate *aggregate, const char *name, const char *help, uint32_t offset)
{
	enum field_kind kind = aggregate->value_field.kind;

	return (struct field){
		.name = name,
		.help = help,
		.kind = kind == KIND_DURATION || kind == KIND_BYTES ? kind : KIND_COUNT,
		.store = STORE_I64,
		.offset = offset,
		.size = sizeof(int64_t),
		.unit = aggregate->value_field.unit,
	};
}

static void add_figure(struct aggregate *aggregate, const char *name, const char *help, uint32_t offset)
{
	struct field field = figure_field(aggregate, name, help, offset);

	row_layout_add_after(&aggregate->layout, &field, aggregate->key_size);
}

static void add_average(struct aggregate *aggregate)
{
	static const struct field real = FIELD_AS(struct figures, avg_real, "avg", RATIO, "sum divided by count");

	if (figure_field(aggregate, "", "", 0).kind == KIND_COUNT)
		row_layout_add_after(&aggregate->layout, &real, aggregate->key_size);
	else
		add_figure(aggregate, "avg", "sum divided by count", offsetof(struct figures, avg));
}

static void add_sums(struct aggregate *aggregate)
{
	const struct aggregate_table *table = aggregate->spec.table;

	for (unsigned i = 0; i < AGGREGATE_EVENTS_MAX; i++)
		if (aggregate->spec.sums[i])
			add_figure(aggregate, aggregate->spec.sums[i], "sum over one event",
				   offsetof(struct figures, sums) + i * (uint32_t)sizeof(int64_t));
	for (unsigned i = 0; table && i < EVENT_ADDS_MAX && table->adds[i]; i++) {
		struct field field = *aggregate->refs[0].adds[i].field;

		field.store = STORE_I64;
		field.size = sizeof(int64_t);
		field.offset = offsetof(struct figures, sums) + i * (uint32_t)sizeof(int64_t);
		field.hidden = field.zero_is_unknown = false;
		row_layout_add_after(&aggregate->layout, &field, aggregate->key_size);
	}
}

/* Additional columns of a table. */
static void add_table(struct aggregate *aggregate)
{
	static const struct field rate = FIELD(struct figures, count_rate, COUNT, "count per second", .unit = "/s");
	static const struct field share = FIELD(struct figures, share, RATIO, "share of the total count", .unit = "%");
	const struct aggregate_table *table = aggregate->spec.table;

	if (table->rates) {
		row_layout_add_after(&aggregate->layout, &rate, aggregate->key_size);
		if (aggregate->spec.kind != AGGREGATE_COUNT) {
			struct field field = figure_field(aggregate, "sum_rate", "sum per second",
							  offsetof(struct figures, sum_rate));

			field.store = STORE_U64;
			field.unit = field.kind == KIND_BYTES ? "B/s" : "/s";
			row_layout_add_after(&aggregate->layout, &field, aggregate->key_size);
		}
	}
	if (table->share || table->share_keys)
		row_layout_add_after(&aggregate->layout, &share, aggregate->key_size);
	if (table->percentiles) {
		add_figure(aggregate, "p50", "median", offsetof(struct figures, p50));
		add_figure(aggregate, "p99", "99th percentile", offsetof(struct figures, p99));
	}
	for (unsigned i = 0; table->classes && i < AGGREGATE_CLASSES_MAX && table->classes[i].name; i++)
		row_layout_add_after(
			&aggregate->layout,
			&(struct field){.name = table->classes[i].name,
					.help = "count in this size class",
					.kind = KIND_COUNT,
					.store = STORE_U64,
					.offset = offsetof(struct figures, classes) + i * (uint32_t)sizeof(uint64_t),
					.size = sizeof(uint64_t)},
			aggregate->key_size);
}

static void make_type(struct aggregate *aggregate)
{
	static const struct field count = FIELD(struct figures, count, COUNT, "number of events");
	static const struct field hist =
		FIELD(struct figures, hist, LIST, "histogram slots", .element = &hist_slot_type, .hidden = true);
	static const struct field time = FIELD(struct figures, time_ns, TIME, "end of the interval", .hidden = true);
	enum aggregate_kind kind = aggregate->spec.kind;

	aggregate->key_size = (aggregate->layout.size + 7) / 8 * 8;
	row_layout_add_after(&aggregate->layout, &count, aggregate->key_size);
	add_sums(aggregate);
	if (kind != AGGREGATE_COUNT)
		add_figure(aggregate, "sum", "sum", offsetof(struct figures, sum));
	if (kind == AGGREGATE_STATS || kind == AGGREGATE_HIST || kind == AGGREGATE_LHIST) {
		add_figure(aggregate, "min", "minimum", offsetof(struct figures, min));
		add_figure(aggregate, "max", "maximum", offsetof(struct figures, max));
		add_average(aggregate);
	}
	if (kind == AGGREGATE_HIST || kind == AGGREGATE_LHIST)
		row_layout_add_after(&aggregate->layout, &hist, aggregate->key_size);
	if (aggregate->spec.table)
		add_table(aggregate);
	row_layout_add_after(&aggregate->layout, &time, aggregate->key_size);
	aggregate->type = (struct record_type){.name = "aggregate",
					       .help = "aggregated events",
					       .fields = aggregate->layout.fields.items,
					       .field_count = (uint32_t)aggregate->layout.fields.count,
					       .size = aggregate->key_size + (uint32_t)sizeof(struct figures)};
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

static int no_field(const char *option, const char *name, const struct shape *shape, struct why *why)
{
	_cleanup_buf_ struct buf hint = BUF_INIT(256), shown = BUF_INIT(256);
	struct near near = {.word = name};
	struct field_ref at = {};

	while (shape_next(shape, &at))
		near_consider(&near, at.field->name);
	near_add_text(&near, &hint);
	text_add_terminal(&shown, name, strnlen(name, 40));
	return why_set(why, -EINVAL, "%s: unknown field '%s'%s", option, buf_text(&shown), buf_text(&hint));
}

/* Finds the field in each shape; its type must be the same in all that have it. */
static int find_in_all(const char *option, const char *name, const struct shape *shapes, unsigned count,
		       struct field_ref *refs, size_t stride, struct why *why)
{
	const struct field *first = NULL;

	for (unsigned i = 0; i < count; i++) {
		struct field_ref *ref = (struct field_ref *)((char *)refs + i * stride);

		if (shape_find(&shapes[i], name, ref) < 0) {
			*ref = (struct field_ref){};
			continue;
		}
		if (first && (first->kind != ref->field->kind || first->store != ref->field->store ||
			      first->size != ref->field->size))
			return why_set(why, -EINVAL, "%s: field %s has different types in these events", option, name);
		first = ref->field;
	}
	return first ? 0 : no_field(option, name, &shapes[0], why);
}

static const struct aggregate_label *label_of(const struct aggregate *aggregate, size_t key)
{
	const struct aggregate_label *label = aggregate->spec.label;

	return label && strcmp(label->name, aggregate->spec.by.items[key]) == 0 ? label : NULL;
}

struct label_value {
	const char *text;
};

static const struct field label_field = FIELD(struct label_value, text, TEXT, "group name");

static int find_keys(struct aggregate *aggregate, const struct shape *shapes, unsigned count, struct why *why)
{
	const struct text_list *by = &aggregate->spec.by;

	if (by->count > EVENT_KEYS_MAX)
		return why_set(why, -EINVAL, "--by: too many fields: the limit is %d", EVENT_KEYS_MAX);
	for (size_t k = 0; k < by->count; k++) {
		const struct aggregate_label *label = label_of(aggregate, k);
		int r = find_in_all("--by", label ? label->field : by->items[k], shapes, count,
				    &aggregate->refs[0].keys[k], sizeof(struct refs), why);
		const struct field *field = NULL;

		if (r < 0)
			return r;
		for (unsigned i = 0; !field && i < count; i++)
			field = aggregate->refs[i].keys[k].field;
		if (field->kind == KIND_LIST)
			return why_set(why, -EINVAL, "--by: field %s is a list", field->name);
		row_layout_add(&aggregate->layout, label ? &label_field : field);
		if (label)
			aggregate->layout.fields.items[k].name = label->name;
		aggregate->layout.fields.items[k].hidden = false;
	}
	aggregate->key_count = by->count;
	return 0;
}

static int find_value(struct aggregate *aggregate, const struct shape *shapes, unsigned count, struct why *why)
{
	const char *name = aggregate->spec.value;
	int r;

	if (aggregate->spec.kind == AGGREGATE_COUNT)
		return 0;
	r = find_in_all("aggregated field", name, shapes, count, &aggregate->refs[0].value, sizeof(struct refs), why);
	if (r < 0)
		return r;
	for (unsigned i = 0; i < count; i++)
		if (aggregate->refs[i].value.field)
			aggregate->value_field = *aggregate->refs[i].value.field;
	if (event_number_form(&aggregate->value_field) == EVENT_FORM_NONE)
		return why_set(why, -EINVAL, "cannot aggregate %s: not a number", name);
	return 0;
}

static int find_added(struct aggregate *aggregate, const struct shape *shapes, unsigned count, struct why *why)
{
	const struct aggregate_table *table = aggregate->spec.table;

	for (unsigned i = 0; table && i < EVENT_ADDS_MAX && table->adds[i]; i++) {
		int r = find_in_all("aggregated field", table->adds[i], shapes, count, &aggregate->refs[0].adds[i],
				    sizeof(struct refs), why);

		if (r < 0)
			return r;
		if (!aggregate->refs[0].adds[i].field ||
		    event_number_form(aggregate->refs[0].adds[i].field) == EVENT_FORM_NONE)
			return why_set(why, -EINVAL, "cannot aggregate %s: not a number", table->adds[i]);
	}
	return 0;
}

static void aggregate_closep(struct aggregate **aggregate)
{
	aggregate_close(*aggregate);
}

int aggregate_open(const struct aggregate_spec *spec, const struct shape *shapes, unsigned count,
		   struct aggregate **ret_aggregate, struct why *why)
{
	_cleanup_(aggregate_closep) struct aggregate *aggregate = xzalloc(sizeof(*aggregate));
	int r;

	aggregate->spec = *spec;
	aggregate->refs = xzalloc(count * sizeof(*aggregate->refs));
	row_layout_init(&aggregate->layout);
	if (spec->kind == AGGREGATE_LHIST &&
	    (spec->step <= 0 || spec->last <= spec->first || aggregate_slot_count(spec) + 2 > EVENT_SLOTS_MAX))
		return why_set(why, -EINVAL, "--lhist: MIN must be below MAX, with 1 to %d steps between",
			       EVENT_SLOTS_MAX - 2);
	r = find_keys(aggregate, shapes, count, why);
	if (r == 0)
		r = find_value(aggregate, shapes, count, why);
	if (r == 0)
		r = find_added(aggregate, shapes, count, why);
	if (r < 0)
		return r;
	make_type(aggregate);
	aggregate->groups = MAP_INIT(max_of(aggregate->key_size, 8u), sizeof(struct event_group), GROUPS_MAX);
	*ret_aggregate = take_ptr(aggregate);
	return 0;
}

void aggregate_close(struct aggregate *aggregate)
{
	if (!aggregate)
		return;
	map_done(&aggregate->groups);
	row_layout_done(&aggregate->layout);
	vec_done(&aggregate->slots);
	free(aggregate->refs);
	free(aggregate);
}

struct field_ref aggregate_value(const struct aggregate *aggregate, unsigned request)
{
	return aggregate->refs[request].value;
}

struct field_ref aggregate_key(const struct aggregate *aggregate, unsigned request, size_t key)
{
	return aggregate->refs[request].keys[key];
}

struct field_ref aggregate_added(const struct aggregate *aggregate, unsigned request, unsigned index)
{
	return aggregate->refs[request].adds[index];
}

void aggregate_set_span(struct aggregate *aggregate, uint64_t span_ns)
{
	aggregate->span_ns = span_ns;
}

/* --- adding ------------------------------------------------------------------------------------------------------- */

static struct event_group *find_group(struct aggregate *aggregate, unsigned request, const struct record *record)
{
	uint64_t room[(EVENT_KEYS_MAX * 160) / 8] = {};
	_cleanup_free_ char *large = NULL;
	char *key = (char *)room;
	struct event_group *group;

	if (aggregate->key_size > sizeof(room))
		key = large = xzalloc(aggregate->key_size);
	for (size_t k = 0; k < aggregate->key_count; k++) {
		struct field_ref ref = aggregate->refs[request].keys[k];
		const struct aggregate_label *label = label_of(aggregate, k);

		if (label && ref.field) {
			struct value value = record_get(record, ref);
			struct label_value text = {label->text(label->context, &value)};

			row_set(&aggregate->layout, k, key, &label_field, &text);
			continue;
		}
		row_set(&aggregate->layout, k, key, ref.field, ref.field ? record->parts[ref.part] : NULL);
	}
	group = map_put(&aggregate->groups, key, NULL);
	if (!group)
		aggregate->lost++;
	return group;
}

static unsigned slot_of(const struct aggregate *aggregate, int64_t value)
{
	const struct aggregate_spec *spec = &aggregate->spec;
	unsigned count = aggregate_slot_count(spec);
	uint64_t slot;

	if (spec->kind == AGGREGATE_HIST)
		return hist_log2_index(value > 0 ? (uint64_t)value : 0);
	if (value < spec->first)
		return 0;
	slot = (uint64_t)(value - spec->first) / (uint64_t)spec->step + 1;
	return slot > count ? count + 1 : (unsigned)slot;
}

static void add_fields(const struct aggregate *aggregate, unsigned request, const struct record *record,
		       struct event_group *one)
{
	const struct aggregate_table *table = aggregate->spec.table;

	for (unsigned i = 0; table && i < EVENT_ADDS_MAX && table->adds[i]; i++) {
		struct field_ref ref = aggregate->refs[request].adds[i];
		struct value value = ref.field ? record_get(record, ref) : (struct value){.class = VALUE_UNKNOWN};

		if (value.class != VALUE_UNKNOWN)
			one->slots[EVENT_ADD_SLOT(aggregate_mode(&aggregate->spec), i)] =
				value.class == VALUE_INT ? (uint64_t)value.sint : value.uint;
	}
}

void aggregate_add(struct aggregate *aggregate, unsigned request, const struct record *record)
{
	struct event_group one = {.count = 1};

	if (aggregate->spec.kind != AGGREGATE_COUNT) {
		struct field_ref ref = aggregate->refs[request].value;
		struct value value = ref.field ? record_get(record, ref) : (struct value){.class = VALUE_UNKNOWN};

		if (value.class == VALUE_UNKNOWN)
			return;
		one.sum = value.class == VALUE_INT ? value.sint : (int64_t)value.uint;
		one.min = EVENT_GROUP_MIN(one.sum);
		one.max = EVENT_GROUP_MAX(one.sum);
		if (aggregate_mode(&aggregate->spec) >= EVENT_LOG2)
			one.slots[slot_of(aggregate, one.sum)] = 1;
	}
	add_fields(aggregate, request, record, &one);
	aggregate_merge(aggregate, request, record, &one);
}

void aggregate_merge(struct aggregate *aggregate, unsigned request, const struct record *record,
		     const struct event_group *group)
{
	struct event_group *to = find_group(aggregate, request, record);

	if (!to || group->count == 0)
		return;
	to->min = max_of(to->min, group->min);
	to->max = max_of(to->max, group->max);
	to->count += group->count;
	/* Wraps like the kernel's counter. */
	to->sum = (int64_t)((uint64_t)to->sum + (uint64_t)group->sum);
	/* Slots belong to histograms; otherwise they hold the sums of single events. */
	if (aggregate->spec.sums[0])
		to->slots[request] += (uint64_t)group->sum;
	for (unsigned i = 0; i < ARRAY_SIZE(to->slots); i++)
		to->slots[i] += group->slots[i];
}

uint64_t aggregate_lost(const struct aggregate *aggregate)
{
	return aggregate->lost;
}

/* --- handing out -------------------------------------------------------------------------------------------------- */

const struct record_type *aggregate_type(const struct aggregate *aggregate)
{
	return &aggregate->type;
}

const struct field *aggregate_hist_field(const struct aggregate *aggregate)
{
	return &aggregate->value_field;
}

const struct list *aggregate_hist(const struct aggregate *aggregate, const void *row)
{
	return &((const struct figures *)((const char *)row + aggregate->key_size))->hist;
}

uint64_t aggregate_max(const struct aggregate *aggregate, const void *row)
{
	int64_t max = ((const struct figures *)((const char *)row + aggregate->key_size))->max;

	return max > 0 ? (uint64_t)max : 0;
}

size_t aggregate_key_count(const struct aggregate *aggregate)
{
	return aggregate->key_count;
}

static struct hist_slot slot_range(const struct aggregate *aggregate, unsigned index)
{
	const struct aggregate_spec *spec = &aggregate->spec;
	unsigned count = aggregate_slot_count(spec);

	if (spec->kind == AGGREGATE_HIST)
		return hist_log2_slot(index);
	if (index == 0)
		return (struct hist_slot){.lo = 0, .hi = spec->first > 0 ? (uint64_t)spec->first - 1 : 0};
	if (index > count)
		return (struct hist_slot){.lo = (uint64_t)(spec->first + count * spec->step), .hi = UINT64_MAX};
	return (struct hist_slot){.lo = (uint64_t)(spec->first + (index - 1) * spec->step),
				  .hi = (uint64_t)(spec->first + index * spec->step) - 1};
}

/* From the first to the last non-empty slot. */
static void add_slots(struct aggregate *aggregate, const struct event_group *group, struct list *hist)
{
	unsigned first = 0, last = EVENT_SLOTS_MAX;

	aggregate->slots.count = 0;
	while (first < EVENT_SLOTS_MAX && group->slots[first] == 0)
		first++;
	while (last > first && group->slots[last - 1] == 0)
		last--;
	for (unsigned i = first; i < last; i++) {
		struct hist_slot slot = slot_range(aggregate, i);

		slot.count = group->slots[i];
		vec_push(&aggregate->slots, slot);
	}
	*hist = (struct list){.items = aggregate->slots.items, .count = (uint32_t)aggregate->slots.count};
}

struct entry {
	const void *key;
	const struct event_group *group;
	const struct aggregate *aggregate;
	uint64_t beside; /* count of all rows with the same first keys */
};

static int compare_keys(const struct entry *x, const struct entry *y, size_t count)
{
	const struct field *fields = x->aggregate->layout.fields.items;

	for (size_t i = 0; i < count; i++) {
		struct value a = value_get(&fields[i], x->key), b = value_get(&fields[i], y->key);
		int order = (int)a.class - (int)b.class;

		if (order == 0 && a.class == VALUE_UINT)
			order = a.uint < b.uint ? -1 : a.uint > b.uint;
		else if (order == 0 && a.class == VALUE_TEXT)
			order = memcmp(a.text, b.text, min_of(a.len, b.len)) ?: (int)a.len - (int)b.len;
		if (order)
			return order;
	}
	return 0;
}

static int by_keys(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return compare_keys(x, y, x->aggregate->key_count)
		       ?: memcmp(x->key, y->key, max_of(x->aggregate->key_size, 8u));
}

/* Largest first; equal rows in the order of their keys. */
static int by_size(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	enum aggregate_kind kind = x->aggregate->spec.kind;
	bool by_sum = kind == AGGREGATE_SUM || kind == AGGREGATE_TOP;
	int64_t of_x = by_sum ? x->group->sum : (int64_t)x->group->count;
	int64_t of_y = by_sum ? y->group->sum : (int64_t)y->group->count;

	if (of_x != of_y)
		return of_x < of_y ? 1 : -1;
	return by_keys(a, b);
}

/* Rows with the same first keys are adjacent. */
static void count_beside(struct entry *entries, size_t count, unsigned keys)
{
	for (size_t i = 0, end; i < count; i = end) {
		uint64_t sum = 0;

		for (end = i; end < count && compare_keys(&entries[i], &entries[end], keys) == 0; end++)
			sum += entries[end].group->count;
		for (size_t k = i; k < end; k++)
			entries[k].beside = sum;
	}
}

static uint64_t a_second(int64_t value, uint64_t span_ns)
{
	return span_ns ? (uint64_t)((double)value * 1e9 / (double)span_ns + 0.5) : UINT64_MAX;
}

/* Interpolated inside a slot, which may begin below the smallest value. */
static int64_t percentile_of(const struct figures *figures, unsigned percent)
{
	const struct list *hist = &figures->hist;
	uint64_t max = figures->max > 0 ? (uint64_t)figures->max : 0;

	return max_of(figures->min, (int64_t)hist_percentile(hist->items, hist->count, percent, max));
}

static void fill_table(const struct aggregate *aggregate, const struct entry *entry, struct figures *figures)
{
	const struct aggregate_table *table = aggregate->spec.table;
	enum event_mode mode = aggregate_mode(&aggregate->spec);
	int64_t count = (int64_t)entry->group->count;
	unsigned slot = 0;

	figures->count_rate = a_second((int64_t)entry->group->count, aggregate->span_ns);
	figures->sum_rate = a_second(entry->group->sum, aggregate->span_ns);
	if (table->share || table->share_keys)
		figures->share = (double)entry->group->count / (double)entry->beside;
	for (unsigned i = 0; i < EVENT_ADDS_MAX && table->adds[i]; i++)
		figures->sums[i] = (int64_t)entry->group->slots[EVENT_ADD_SLOT(mode, i)] / (table->means ? count : 1);
	if (table->percentiles) {
		figures->p50 = percentile_of(figures, 50);
		figures->p99 = percentile_of(figures, 99);
	}
	for (unsigned i = 0; table->classes && i < AGGREGATE_CLASSES_MAX && table->classes[i].name; i++)
		for (; slot < EVENT_SLOTS_MAX && hist_log2_slot(slot).lo < table->classes[i].below; slot++)
			figures->classes[i] += entry->group->slots[slot];
}

static void hand_out(struct aggregate *aggregate, const struct entry *entry, char *row, uint64_t time_ns)
{
	struct figures *figures = (struct figures *)(row + aggregate->key_size);
	const struct event_group *group = entry->group;

	memcpy(row, entry->key, aggregate->key_size);
	*figures = (struct figures){
		.count = group->count,
		.sum = group->sum,
		.min = EVENT_GROUP_MIN_OF(group->min),
		.max = EVENT_GROUP_MAX_OF(group->max),
		.avg = group->sum / (int64_t)group->count,
		.avg_real = (double)group->sum / (double)group->count,
		.time_ns = time_ns,
	};
	for (unsigned i = 0; aggregate->spec.sums[0] && i < AGGREGATE_EVENTS_MAX; i++)
		figures->sums[i] = (int64_t)group->slots[i];
	if (aggregate_mode(&aggregate->spec) >= EVENT_LOG2)
		add_slots(aggregate, group, &figures->hist);
	if (aggregate->spec.table)
		fill_table(aggregate, entry, figures);
}

size_t aggregate_take(struct aggregate *aggregate, uint64_t time_ns, void (*fn)(const void *row, void *context),
		      void *context)
{
	_cleanup_free_ char *row = xzalloc(aggregate->type.size);
	const struct aggregate_table *table = aggregate->spec.table;
	VEC(struct entry) entries = {};
	const void *key;
	size_t at = 0, shown;
	void *value;

	while (map_next(&aggregate->groups, &at, &key, &value))
		vec_push(&entries, (struct entry){.key = key, .group = value, .aggregate = aggregate});
	vec_sort(&entries, table && !table->share ? by_keys : by_size);
	if (table)
		count_beside(entries.items, entries.count, table->share ? 0 : table->share_keys);
	shown = aggregate->spec.rows ? min_of(entries.count, (size_t)aggregate->spec.rows) : entries.count;
	for (size_t i = 0; i < shown; i++) {
		hand_out(aggregate, &entries.items[i], row, time_ns);
		fn(row, context);
	}
	vec_done(&entries);
	map_done(&aggregate->groups);
	aggregate->groups = MAP_INIT(max_of(aggregate->key_size, 8u), sizeof(struct event_group), GROUPS_MAX);
	return shown;
}
