/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/fleet_table.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "diagnose/infer/diagnosis.h"
#include "diagnose/measure/conn_minute.h"
#include "event/core/event.h"
#include "fleet/minute.h"
#include "store/about.h"

#define EVENT_DAYS   7
#define FINDING_DAYS 90
#define MINUTE_DAYS  30

static const char *const keys[] = {"host", "boot", "stream", "row"};

/* What a recording holds besides events. */
static const struct {
	const struct record_type *types[2];
	unsigned days;
} others[] = {
	{{&moment_type, &finding_type}, FINDING_DAYS},
	{{&verdict_type}, EVENT_DAYS},
	{{&loss_type}, FINDING_DAYS},
	{{&mark_type}, FINDING_DAYS},
	{{&conn_minute_type}, EVENT_DAYS},
	{{&drop_minute_type}, MINUTE_DAYS},
	{{&retransmit_minute_type}, EVENT_DAYS},
	{{&path_minute_type}, MINUTE_DAYS},
	{{&service_minute_type}, MINUTE_DAYS},
};

bool fleet_is_key(const char *column)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (strcmp(keys[i], column) == 0)
			return true;
	return false;
}

void fleet_add_column_name(struct buf *out, const struct field *field)
{
	if (fleet_is_key(field->name))
		buf_add_text(out, "event_");
	buf_add_text(out, field->name);
}

/* Whether the name is the type's, with a dot or with _. */
static bool is_named(const char *type_name, const char *name)
{
	for (; *type_name && *name; type_name++, name++)
		if (*type_name != *name && !(*type_name == '.' && *name == '_'))
			return false;
	return *type_name == *name;
}

static void set_table(struct fleet_table *table, const char *name, const struct shape *shape, unsigned days)
{
	*table = (struct fleet_table){.shape = *shape, .days = days};
	snprintf(table->name, sizeof(table->name), "%s", name);
	for (char *at = table->name; *at; at++)
		if (*at == '.')
			*at = '_';
}

static void set_other(struct fleet_table *table, size_t number)
{
	const struct record_type *const *types = others[number].types;
	struct shape shape = {.count = types[1] ? 2 : 1, .types = {types[0], types[1]}};

	set_table(table, types[shape.count - 1]->name, &shape, others[number].days);
}

int fleet_table_find(const char *name, struct fleet_table *ret_table)
{
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		struct fleet_table table;

		set_other(&table, i);
		if (strcmp(table.name, name) == 0) {
			*ret_table = table;
			return 0;
		}
	}
	registry_each(event, entry)
		if (is_named((*entry)->name, name)) {
			struct shape shape = event_shape(*entry);

			set_table(ret_table, (*entry)->name, &shape, EVENT_DAYS);
			return 0;
		}
	return -ENOENT;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct fleet_table *)a)->name, ((const struct fleet_table *)b)->name);
}

struct fleet_table *fleet_table_list(size_t *ret_count)
{
	size_t events, count = 0;
	const struct event **list = event_list(&events);
	struct fleet_table *tables = xzalloc((events + ARRAY_SIZE(others)) * sizeof(*tables));

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		set_other(&tables[count++], i);
	for (size_t i = 0; i < events; i++) {
		struct shape shape = event_shape(list[i]);

		set_table(&tables[count++], list[i]->name, &shape, EVENT_DAYS);
	}
	free(list);
	qsort(tables, count, sizeof(*tables), by_name);
	*ret_count = count;
	return tables;
}
