/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SQL of a recording's tables, generated from the record types. */
#include <errno.h>
#include <string.h>

#include "store/moment.h"
#include "store/sql.h"
#include "store/states.h"
#include "store/store_inside.h"
#include "store/views.h"

#define SQL_MAX ((size_t)1 << 20)

/* Snapshots' tables have moments where their fields have durations. */
static char *column_name(const struct store_table *table, const struct field *field)
{
	return table->is_states && field->moment ? moment_column(field) : xstrdup(field->name);
}

static void add_create(struct buf *sql, const struct store_table *table)
{
	bool comma = table->is_states;

	buf_add_text(sql, "CREATE TABLE ");
	sql_add_name(sql, table->name);
	buf_add_text(sql,
		     table->is_states ? " (first INTEGER NOT NULL, last INTEGER NOT NULL, pos INTEGER NOT NULL" : " (");
	vec_each(&table->columns, column) {
		_cleanup_free_ char *name = column_name(table, column->ref.field);

		buf_add_text(sql, comma ? ", " : "");
		sql_add_name(sql, name);
		buf_add_format(sql, " %s", column_sql_type(column->ref.field));
		comma = true;
	}
	buf_add_text(sql, ")");
}

static void add_insert(struct buf *sql, const struct store_table *table)
{
	size_t count = table->columns.count + (table->is_states ? STATE_COLUMNS : 0);

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
		vec_push(&columns.items,
			 (struct readable_column){column_name(table, column->ref.field), column->ref.field});
	views_add_sql(sql, table->name, table->is_states, false, &columns);
	vec_each(&columns.items, column)
		free((char *)column->name);
	vec_done(&columns.items);
}

static int describe_columns(struct store_table *table)
{
	struct store_table *columns;
	int r = store_table_open(table->store, column_type.name, &SHAPE_OF(&column_type), &columns);

	vec_each(&table->columns, column) {
		const struct field *field = column->ref.field;
		bool is_moment = table->is_states && field->moment;
		_cleanup_free_ char *name = column_name(table, field);
		_cleanup_free_ char *help = is_moment ? xasprintf("that moment, in time since boot: %s", field->help)
						      : xstrdup(field->help);
		struct column_record record = {.table = table->name,
					       .column = name,
					       .kind = about_kind_name(field->kind),
					       .unit = field->unit,
					       .help = help};

		if (r == 0)
			r = store_add(columns, &RECORD_OF(&record));
	}
	return r;
}

/* Of a recording that is continued. One of other columns, by another build, begins again. */
static int reuse(struct store_table *table, const char *create_sql, bool *ret_reused)
{
	char *const *before = map_get(&table->store->existing, table->name);
	_cleanup_buf_ struct buf sql = BUF_INIT(SQL_MAX);

	*ret_reused = before && strcmp(*before, create_sql) == 0;
	if (!before || *ret_reused)
		return 0;
	buf_add_text(&sql, "DROP TABLE ");
	sql_add_name(&sql, table->name);
	buf_add_format(&sql, "; DROP VIEW IF EXISTS \"v_%s\"; DELETE FROM \"column\" WHERE \"table\" = '%s'",
		       table->name, table->name);
	return store_run(table->store, buf_text(&sql));
}

static int create(struct store_table *table, bool *ret_reused)
{
	_cleanup_buf_ struct buf sql = BUF_INIT(SQL_MAX);
	struct store *store = table->store;
	int r = store_begin(store);

	add_create(&sql, table);
	if (r == 0)
		r = reuse(table, buf_text(&sql), ret_reused);
	if (r == 0 && !*ret_reused)
		r = store_run(store, buf_text(&sql));
	buf_clear(&sql);
	add_view(&sql, table);
	if (r == 0 && !*ret_reused)
		r = store_run(store, buf_text(&sql));
	buf_clear(&sql);
	add_insert(&sql, table);
	if (r == 0)
		r = store_prepare(store, buf_text(&sql), &table->insert);
	return r;
}

static int prepare_replace(struct store_table *table)
{
	_cleanup_buf_ struct buf sql = BUF_INIT(SQL_MAX);

	if (table->replace)
		return 0;
	buf_add_text(&sql, "REPLACE INTO ");
	sql_add_name(&sql, table->name);
	buf_add_text(&sql, " (rowid");
	vec_each(&table->columns, column) {
		_cleanup_free_ char *name = column_name(table, column->ref.field);

		buf_add_text(&sql, ", ");
		sql_add_name(&sql, name);
	}
	buf_add_text(&sql, ") VALUES (?");
	for (size_t i = 0; i < table->columns.count; i++)
		buf_add_text(&sql, ", ?");
	buf_add_char(&sql, ')');
	return store_prepare(table->store, buf_text(&sql), &table->replace);
}

int store_put(struct store_table *table, const struct record *record, int64_t *row)
{
	struct store *store = table->store;
	int r = store_begin(store);

	if (r == 0)
		r = prepare_replace(table);
	if (r == 0)
		r = store_bind(table, table->replace, record, 2);
	if (r < 0)
		return r;
	if (*row)
		(void)sqlite3_bind_int64(table->replace, 1, *row);
	else
		(void)sqlite3_bind_null(table->replace, 1);
	r = store_step(store, table->replace);
	if (r == 0)
		*row = sqlite3_last_insert_rowid(store->db);
	return r;
}

int store_table_clear(struct store_table *table)
{
	_cleanup_buf_ struct buf sql = BUF_INIT(4096);
	int r = store_begin(table->store);

	buf_add_text(&sql, "DELETE FROM ");
	sql_add_name(&sql, table->name);
	return r == 0 ? store_run(table->store, buf_text(&sql)) : r;
}

int store_table_make(struct store *store, const char *name, const struct shape *shape, bool states,
		     struct store_table **ret_table)
{
	struct store_table *table = xzalloc(sizeof(*table));
	struct field_ref at = {};
	bool reused = false;
	int r;

	*table = (struct store_table){
		.store = store, .name = sql_table_name(name), .shape = *shape, .is_states = states, .time_column = -1};
	vec_push(&store->tables, table);
	while (shape_next(shape, &at)) {
		struct column *column = vec_add(&table->columns);

		column_init(column, at);
		if (strcmp(at.field->name, "time_ns") == 0)
			table->time_column = (int)table->columns.count - 1;
	}
	if (states)
		table->states = states_new(table);
	r = create(table, &reused);
	/* The table of columns cannot describe itself while it is created. */
	if (r == 0 && !reused)
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
