/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/metric.h"

#include <errno.h>
#include <inttypes.h>

#include "base/map.h"
#include "base/vec.h"
#include "record/expr.h"

#define LABELS ARRAY_SIZE(((struct metric *)0)->labels)
/* Series of one metric; the whole has a limit of its own. */
#define SERIES_MAX 1000
#define LABEL_MAX  128

/* A metric made ready for one table. */
struct reader {
	const struct metric *metric;
	struct shape shape;
	struct expr *where;
	struct field_ref value, labels[LABELS];
};

static int open_reader(const struct metric *metric, struct reader *ret_reader, struct why *why)
{
	struct reader reader = {.metric = metric, .shape = SHAPE_OF(metric->type)};
	int r = metric->where ? expr_parse(metric->where, &reader.shape, &reader.where, why) : 0;

	if (r == 0 && metric->value && shape_find(&reader.shape, metric->value, &reader.value) < 0)
		r = why_set(why, -EINVAL, "%s: no field %s", metric->family.name, metric->value);
	for (size_t i = 0; r == 0 && i < LABELS && metric->labels[i].name; i++) {
		if (shape_find(&reader.shape, metric->labels[i].field, &reader.labels[i]) < 0)
			r = why_set(why, -EINVAL, "%s: no field %s", metric->family.name, metric->labels[i].field);
		else if (reader.labels[i].field->kind == KIND_ADDR || strcmp(metric->labels[i].field, "pid") == 0 ||
			 strcmp(metric->labels[i].field, "cookie") == 0)
			r = why_set(why, -EINVAL, "%s: %s must not be a label", metric->family.name,
				    metric->labels[i].field);
	}
	if (r < 0)
		expr_free(reader.where);
	else
		*ret_reader = reader;
	return r;
}

int metric_check_all(struct why *why)
{
	registry_each(metric, metric) {
		struct reader reader;
		int r = open_reader(*metric, &reader, why);

		if (r < 0)
			return r;
		expr_free(reader.where);
	}
	return 0;
}

const struct record_type **metric_types(void)
{
	VEC(const struct record_type *) types = {};

	registry_each(metric, metric) {
		bool known = false;

		vec_each(&types, type)
			known |= *type == (*metric)->type;
		if (!known)
			vec_push(&types, (*metric)->type);
	}
	vec_push(&types, NULL);
	return types.items;
}

/* --- one metric --- */

struct series {
	char labels[LABELS][LABEL_MAX];
	double value;
};

static void add_label(char *text, const struct metric_label *label, const struct field *field,
		      const struct value *value)
{
	const char *name;

	switch (value->class) {
	case VALUE_TEXT:
		snprintf(text, LABEL_MAX, "%.*s", (int)min_of(value->len, (size_t)LABEL_MAX - 1), value->text);
		return;
	case VALUE_UINT:
		name = field->kind == KIND_ENUM ? enum_name_find(field->names, value->uint) : NULL;
		if (label->kind == METRIC_PORT && value->uint >= METRIC_EPHEMERAL)
			snprintf(text, LABEL_MAX, "other");
		else if (name)
			snprintf(text, LABEL_MAX, "%s", name);
		else
			snprintf(text, LABEL_MAX, "%" PRIu64, value->uint);
		return;
	default:
		snprintf(text, LABEL_MAX, "unknown");
	}
}

static void add_row(const struct reader *reader, const void *row, struct map *all, uint64_t *refused)
{
	const struct metric *metric = reader->metric;
	struct record record = RECORD_OF(row);
	char key[LABELS][LABEL_MAX];
	struct series *series;
	double number = 1;
	bool is_new;

	if (reader->where && !expr_matches(reader->where, &record))
		return;
	if (metric->value) {
		struct value value = record_get(&record, reader->value);

		number = value_number(&value) * (metric->scale > 0 ? metric->scale : 1);
	}
	if (isnan(number))
		return;
	memset(key, 0, sizeof(key));
	for (size_t i = 0; i < LABELS && metric->labels[i].name; i++) {
		struct value value = record_get(&record, reader->labels[i]);

		add_label(key[i], &metric->labels[i], reader->labels[i].field, &value);
	}
	series = map_put(all, key, &is_new);
	if (!series) {
		(*refused)++;
		return;
	}
	if (is_new)
		memcpy(series->labels, key, sizeof(key));
	series->value = is_new                      ? number
			: metric->add == METRIC_MAX ? fmax(series->value, number)
						    : series->value + number;
}

static int by_labels(const void *a, const void *b)
{
	return memcmp(((const struct series *)a)->labels, ((const struct series *)b)->labels,
		      sizeof(((const struct series *)a)->labels));
}

static void write_series(struct openmetrics *out, const struct metric *metric, const struct map *all)
{
	VEC(struct series) sorted = {};
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(all, &at, &key, &value))
		vec_push(&sorted, *(struct series *)value);
	vec_sort(&sorted, by_labels);
	openmetrics_begin(out, &metric->family);
	vec_each(&sorted, series) {
		struct openmetrics_label labels[LABELS];
		size_t count = 0;

		for (; count < LABELS && metric->labels[count].name; count++)
			labels[count] = (struct openmetrics_label){metric->labels[count].name, series->labels[count]};
		openmetrics_add(out, labels, count, series->value);
	}
	vec_done(&sorted);
}

static void write_metric(struct openmetrics *out, const struct metric *metric, const struct snapshot *snapshot)
{
	const struct snapshot_table *table = snapshot_table(snapshot, metric->type);
	struct map all = MAP_INIT(LABELS * LABEL_MAX, sizeof(struct series), SERIES_MAX);
	static const char no_labels[LABELS][LABEL_MAX];
	struct reader reader;
	struct why why;

	if (!table || open_reader(metric, &reader, &why) < 0)
		return;
	if (metric->without_rows)
		(void)!map_put(&all, no_labels, NULL);
	for (size_t i = 0; i < table->count; i++)
		add_row(&reader, table->items + i * metric->type->size, &all, &out->dropped);
	if (all.count > 0)
		write_series(out, metric, &all);
	map_done(&all);
	expr_free(reader.where);
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(const struct metric *const *)a)->family.name, (*(const struct metric *const *)b)->family.name);
}

void metric_write_all(struct openmetrics *out, const struct snapshot *snapshot)
{
	VEC(const struct metric *) sorted = {};

	registry_each(metric, metric)
		vec_push(&sorted, *metric);
	vec_sort(&sorted, by_name);
	vec_each(&sorted, metric)
		write_metric(out, *metric, snapshot);
	vec_done(&sorted);
}
