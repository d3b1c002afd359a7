/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SQL of a recording's tables, generated from the record types. */
#include <errno.h>
#include <string.h>

#include "store/sql.h"
#include "store/states.h"
#include "store/store_inside.h"
#include "store/views.h"

#define SQL_MAX ((size_t)1 << 20)

static void add_create(struct buf *sql, const struct store_table *table)
{
	bool comma = table->states != NULL;

	buf_add_text(sql, "CREATE TABLE ");
	sql_add_name(sql, table->name);
	buf_add_text(sql,
		     table->states ? " (first INTEGER NOT NULL, last INTEGER NOT NULL, pos INTEGER NOT NULL" : " (");
	vec_each(&table->columns, column) {
		buf_add_text(sql, comma ? ", " : "");
		sql_add_name(sql, column->ref.field->name);
		buf_add_format(sql, " %s", column_sql_type(column->ref.field));
		comma = true;
	}
	buf_add_text(sql, ")");
}

static void add_insert(struct buf *sql, const struct store_table *table)
{
	size_t count = table->columns.count + (table->states ? 3 : 0);

	buf_add_text(sql, "INSERT INTO ");
	sql_add_name(sql, table->name);
	buf_add_text(sql, " VALUES (");
	for (size_t i = 0; i < count; i++)
		buf_add_text(sql, i ? ", ?" : "?");
	buf_add_text(sql, ")");
}

static void add_view(struct buf *sql, const struct store_table *table)
{
	struct readable_columns columns = {};

	vec_each(&table->columns, column)
		vec_push(&columns.items, (struct readable_column){column->ref.field->name, column->ref.field});
	views_add_sql(sql, table->name, table->states != NULL, false, &columns);
	vec_done(&columns.items);
}

static int describe_columns(struct store_table *table)
{
	struct store_table *columns;
	int r = store_table_open(table->store, column_type.name, &SHAPE_OF(&column_type), &columns);

	vec_each(&table->columns, column) {
		const struct field *field = column->ref.field;
		struct column_record record = {.table = table->name,
					       .column = field->name,
					       .kind = about_kind_name(field->kind),
					       .unit = field->unit,
					       .help = field->help};

		if (r == 0)
			r = store_add(columns, &RECORD_OF(&record));
	}
	return r;
}

static int create(struct store_table *table)
{
	_cleanup_buf_ struct buf sql = BUF_INIT(SQL_MAX);
	struct store *store = table->store;
	int r = store_begin(store);

	add_create(&sql, table);
	if (r == 0)
		r = store_run(store, buf_text(&sql));
	buf_clear(&sql);
	add_view(&sql, table);
	if (r == 0)
		r = store_run(store, buf_text(&sql));
	buf_clear(&sql);
	add_insert(&sql, table);
	if (r == 0)
		r = store_prepare(store, buf_text(&sql), &table->insert);
	return r;
}

int store_table_make(struct store *store, const char *name, const struct shape *shape, bool states,
		     struct store_table **ret_table)
{
	struct store_table *table = xzalloc(sizeof(*table));
	struct field_ref at = {};
	int r;

	*table = (struct store_table){.store = store, .name = sql_table_name(name), .shape = *shape, .time_column = -1};
	vec_push(&store->tables, table);
	while (shape_next(shape, &at)) {
		struct column *column = vec_add(&table->columns);

		column_init(column, at);
		if (strcmp(at.field->name, "time_ns") == 0)
			table->time_column = (int)table->columns.count - 1;
	}
	if (states)
		table->states = states_new(table);
	r = create(table);
	/* The table of columns cannot describe itself while it is created. */
	if (r == 0)
		r = describe_columns(table);
	*ret_table = table;
	return r;
}

int store_table_open(struct store *store, const char *name, const struct shape *shape, struct store_table **ret_table)
{
	_cleanup_free_ char *wanted = sql_table_name(name);

	vec_each(&store->tables, table)
		if (strcmp((*table)->name, wanted) == 0) {
			*ret_table = *table;
			return store->error;
		}
	return store_table_make(store, name, shape, false, ret_table);
}
