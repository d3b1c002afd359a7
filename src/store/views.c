/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "store/moment.h"
#include "store/recording_inside.h"
#include "store/sql.h"
#include "store/views.h"

#define SQL_MAX ((size_t)1 << 20)

static void add_column(struct buf *sql, const struct readable_column *column)
{
	const struct field *field = column->field;

	if (field && field->moment && strcmp(field->name, column->name) != 0) {
		moment_add_readable(field, sql);
		buf_add_text(sql, " AS ");
		sql_add_name(sql, field->name);
		return;
	}
	if (field && column_add_readable(field, "t", sql)) {
		buf_add_text(sql, " AS ");
		/* A readable time is no longer in nanoseconds. */
		if (strcmp(field->name, "time_ns") == 0)
			buf_add_text(sql, "time");
		else
			sql_add_name(sql, field->name);
		return;
	}
	buf_add_text(sql, "t.");
	sql_add_name(sql, column->name);
}

void views_add_sql(struct buf *sql, const char *name, bool states, bool temporary,
		   const struct readable_columns *columns)
{
	_cleanup_free_ char *view = xasprintf("v_%s", name);
	bool comma = states;

	buf_add_text(sql, temporary ? "CREATE TEMP VIEW " : "CREATE VIEW ");
	sql_add_name(sql, view);
	buf_add_text(sql, " AS SELECT ");
	if (states)
		buf_add_text(sql, "strftime('%Y-%m-%d %H:%M:%f', s.begin_time_ns / 1e9, 'unixepoch') AS time");
	vec_each(&columns->items, column) {
		buf_add_text(sql, comma ? ", " : "");
		comma = true;
		add_column(sql, column);
	}
	buf_add_text(sql, " FROM main.");
	sql_add_name(sql, name);
	buf_add_text(sql, " AS t");
	if (states)
		buf_add_text(sql, " JOIN main.sample AS s ON s.id BETWEEN t.first AND t.last");
}

static bool is_column_of(const struct field *field, const char *column)
{
	_cleanup_free_ char *moment = field->moment ? moment_column(field) : NULL;

	return strcmp(field->name, column) == 0 || (moment && strcmp(moment, column) == 0);
}

static const struct field *find_in(const struct record_type *type, const char *column)
{
	for (uint32_t i = 0; i < type->field_count; i++)
		if (is_column_of(&type->fields[i], column))
			return &type->fields[i];
	return NULL;
}

const struct field *views_find_field(const char *table, const char *column)
{
	const struct field *field = NULL;

	registry_each(record_type, type) {
		_cleanup_free_ char *name = sql_table_name((*type)->name);

		if (!field && strcmp(name, table) == 0)
			field = find_in(*type, column);
	}
	/* Columns before the type's fields. */
	if (!field)
		field = find_in(&moment_type, column);
	return field;
}

static int make_view(struct recording *recording, const struct recorded_table *table, struct why *why)
{
	_cleanup_buf_ struct buf sql = BUF_INIT(SQL_MAX);
	struct readable_columns columns = {};
	int code;

	vec_each(&table->columns, name)
		if (!table->states ||
		    (strcmp(*name, "first") != 0 && strcmp(*name, "last") != 0 && strcmp(*name, "pos") != 0))
			vec_push(&columns.items, (struct readable_column){*name, views_find_field(table->name, *name)});
	views_add_sql(&sql, table->name, table->states, true, &columns);
	vec_done(&columns.items);
	code = sqlite3_exec(recording->db, buf_text(&sql), NULL, NULL, NULL);
	return code == SQLITE_OK ? 0 : recording_fail(recording, code, why);
}

static void begin_views(struct recording *recording)
{
	recording->preparing = true;
	(void)sqlite3_exec(recording->db, "PRAGMA query_only = 0", NULL, NULL, NULL);
}

static void end_views(struct recording *recording)
{
	(void)sqlite3_exec(recording->db, "PRAGMA query_only = 1", NULL, NULL, NULL);
	recording->preparing = false;
}

int views_make(struct recording *recording, struct why *why)
{
	int r = 0;

	begin_views(recording);
	for (size_t i = 0; r == 0 && i < recording->tables.count; i++)
		r = make_view(recording, &recording->tables.items[i], why);
	end_views(recording);
	return r;
}

static int join(struct recording *recording, const char *prefix, const char *name, const char *const *tables,
		size_t count, struct why *why)
{
	_cleanup_buf_ struct buf sql = BUF_INIT(SQL_MAX);
	_cleanup_free_ char *table = sql_table_name(name), *view = xasprintf("%s%s", prefix, table);
	const char *before = " AS SELECT * FROM ";
	int code;

	buf_add_text(&sql, "CREATE TEMP VIEW ");
	sql_add_name(&sql, view);
	for (size_t i = 0; i < count; i++) {
		_cleanup_free_ char *part = sql_table_name(tables[i]), *from = xasprintf("%s%s", prefix, part);

		if (!recording_has(recording, tables[i]))
			continue;
		buf_add_text(&sql, before);
		sql_add_name(&sql, from);
		before = " UNION ALL SELECT * FROM ";
	}
	code = sqlite3_exec(recording->db, buf_text(&sql), NULL, NULL, NULL);
	return code == SQLITE_OK ? 0 : recording_fail(recording, code, why);
}

int views_join(struct recording *recording, const char *name, const char *const *tables, size_t count, struct why *why)
{
	bool any = false;
	int r;

	for (size_t i = 0; i < count; i++)
		any |= recording_has(recording, tables[i]);
	if (!any || recording_has(recording, name))
		return 0;
	begin_views(recording);
	r = join(recording, "", name, tables, count, why);
	if (r == 0)
		r = join(recording, "v_", name, tables, count, why);
	end_views(recording);
	return r;
}
