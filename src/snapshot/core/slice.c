/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot/core/slice.h"

#include "base/map.h"

/* The records of a namespace in a table, one after the other. */
struct span {
	size_t start;
	size_t count;
};

struct part {
	uint32_t table;
	uint32_t netns;
};

struct own_table {
	const struct field *field; /* netns; NULL: the table is shared */
	/* A copy in order of namespaces: used only where they do not follow one another in the table itself. */
	uint8_t *items;
	size_t room;
	bool used;
};

struct snapshot_slice {
	const struct snapshot *whole;
	struct snapshot snapshot;
	struct own_table *own; /* one per table */
	size_t count;
	struct map spans; /* struct part -> struct span */
};

struct snapshot_slice *snapshot_slice_new(void)
{
	struct snapshot_slice *slice = xzalloc(sizeof(*slice));

	slice->spans = MAP_INIT(sizeof(struct part), sizeof(struct span), 0);
	return slice;
}

void snapshot_slice_free(struct snapshot_slice *slice)
{
	if (!slice)
		return;
	for (size_t i = 0; i < slice->count; i++)
		free(slice->own[i].items);
	free(slice->own);
	free(slice->snapshot.tables);
	map_done(&slice->spans);
	free(slice);
}

static void make_room(struct snapshot_slice *slice, size_t tables)
{
	if (slice->count == tables)
		return;
	slice->own = xrealloc_array(slice->own, tables, sizeof(*slice->own));
	memset(slice->own + slice->count, 0, (tables - slice->count) * sizeof(*slice->own));
	slice->snapshot.tables = xrealloc_array(slice->snapshot.tables, tables, sizeof(*slice->snapshot.tables));
	slice->count = tables;
}

/* The field netns of a type; NULL: none. Gaps of no namespace are gaps of all: readers look at the field. */
static const struct field *netns_field(const struct record_type *type)
{
	if (type == &gap_type)
		return NULL;
	for (uint32_t i = 0; i < type->field_count; i++)
		if (strcmp(type->fields[i].name, "netns") == 0)
			return &type->fields[i];
	return NULL;
}

/* UINT32_MAX: unknown, so of none. */
static uint32_t netns_of(const struct snapshot_table *table, const struct field *field, size_t number)
{
	struct value value = value_get(field, table->items + number * table->type->size);

	return value.class == VALUE_UINT ? (uint32_t)value.uint : UINT32_MAX;
}

/* Counts the records of each namespace; false: those of one do not follow one another. */
static bool find_spans(struct snapshot_slice *slice, uint32_t number)
{
	const struct snapshot_table *table = &slice->whole->tables[number];
	struct span *span = NULL;
	bool in_order = true;
	uint32_t before = 0;

	for (size_t i = 0; i < table->count; i++) {
		struct part part = {number, netns_of(table, slice->own[number].field, i)};
		bool is_new = false;

		if (!span || part.netns != before)
			span = map_put(&slice->spans, &part, &is_new);
		if (is_new)
			span->start = i;
		in_order &= span->start + span->count == i;
		span->count++;
		before = part.netns;
	}
	return in_order;
}

/* Copies them in an order in which they do. */
static void sort_records(struct snapshot_slice *slice, uint32_t number)
{
	const struct snapshot_table *table = &slice->whole->tables[number];
	struct own_table *own = &slice->own[number];
	size_t size = table->type->size, next = 0, at = 0;
	const void *key;
	void *value;

	if (own->room < table->count) {
		own->room = table->count;
		own->items = xrealloc_array(own->items, own->room, size);
	}
	own->used = true;
	while (map_next(&slice->spans, &at, &key, &value)) {
		struct span *span = value;

		if (((const struct part *)key)->table != number)
			continue;
		span->start = next;
		next += span->count;
		span->count = 0;
	}
	for (size_t i = 0; i < table->count; i++) {
		struct part part = {number, netns_of(table, own->field, i)};
		struct span *span = map_get(&slice->spans, &part);

		memcpy(own->items + (span->start + span->count++) * size, table->items + i * size, size);
	}
}

void snapshot_slice_divide(struct snapshot_slice *slice, const struct snapshot *whole)
{
	struct snapshot_table *tables;

	make_room(slice, whole->table_count);
	tables = slice->snapshot.tables;
	slice->whole = whole;
	slice->snapshot = *whole;
	slice->snapshot.tables = tables;
	map_done(&slice->spans);
	slice->spans = MAP_INIT(sizeof(struct part), sizeof(struct span), 0);
	for (uint32_t i = 0; i < whole->table_count; i++) {
		struct own_table *own = &slice->own[i];

		own->field = netns_field(whole->tables[i].type);
		own->used = false;
		tables[i] = whole->tables[i];
		if (own->field && !find_spans(slice, i))
			sort_records(slice, i);
	}
}

const struct snapshot *snapshot_slice_cut(struct snapshot_slice *slice, uint32_t netns)
{
	slice->snapshot.netns = netns;
	for (uint32_t i = 0; i < slice->count; i++) {
		const struct snapshot_table *whole = &slice->whole->tables[i];
		struct part part = {i, netns};
		const struct span *span = map_get(&slice->spans, &part);
		struct snapshot_table *table = &slice->snapshot.tables[i];

		if (!slice->own[i].field)
			continue;
		table->count = span ? span->count : 0;
		table->items = slice->own[i].used ? slice->own[i].items : whole->items;
		if (span)
			table->items += span->start * whole->type->size;
	}
	return &slice->snapshot;
}
