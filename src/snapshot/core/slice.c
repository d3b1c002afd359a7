/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot/core/slice.h"

struct own_table {
	uint8_t *items;
	size_t room;
};

struct snapshot_slice {
	struct snapshot snapshot;
	struct own_table *own; /* one per table */
	size_t count;
};

struct snapshot_slice *snapshot_slice_new(void)
{
	return xzalloc(sizeof(struct snapshot_slice));
}

void snapshot_slice_free(struct snapshot_slice *slice)
{
	if (!slice)
		return;
	for (size_t i = 0; i < slice->count; i++)
		free(slice->own[i].items);
	free(slice->own);
	free(slice->snapshot.tables);
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

/* The field netns of a type; NULL: none. */
static const struct field *netns_field(const struct record_type *type)
{
	for (uint32_t i = 0; i < type->field_count; i++)
		if (strcmp(type->fields[i].name, "netns") == 0)
			return &type->fields[i];
	return NULL;
}

static void cut_table(struct own_table *own, const struct snapshot_table *whole, const struct field *field,
		      uint32_t netns, struct snapshot_table *ret_table)
{
	size_t size = whole->type->size;

	if (own->room < whole->count) {
		own->room = whole->count;
		own->items = xrealloc_array(own->items, own->room, size);
	}
	*ret_table = *whole;
	ret_table->items = own->items;
	ret_table->room = own->room;
	ret_table->count = 0;
	for (size_t i = 0; i < whole->count; i++) {
		const uint8_t *item = whole->items + i * size;
		struct value value = value_get(field, item);

		if (value.class == VALUE_UINT && value.uint == netns)
			memcpy(own->items + ret_table->count++ * size, item, size);
	}
}

const struct snapshot *snapshot_slice_cut(struct snapshot_slice *slice, const struct snapshot *whole, uint32_t netns)
{
	struct snapshot_table *tables;

	make_room(slice, whole->table_count);
	tables = slice->snapshot.tables;
	slice->snapshot = *whole;
	slice->snapshot.tables = tables;
	slice->snapshot.netns = netns;
	for (size_t i = 0; i < whole->table_count; i++) {
		const struct field *field = netns_field(whole->tables[i].type);

		if (field)
			cut_table(&slice->own[i], &whole->tables[i], field, netns, &tables[i]);
		else
			tables[i] = whole->tables[i];
	}
	return &slice->snapshot;
}
