/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of a recording as records. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "store/moment.h"
#include "store/recording_inside.h"
#include "store/rows.h"
#include "store/sql.h"

#define SQL_MAX ((size_t)1 << 20)

/* The field of a column of the statement. */
struct source {
	struct field_ref ref;
	int number;
	bool is_moment;
};

struct rows {
	struct recording *recording;
	struct shape shape;
	sqlite3_stmt *statement;
	VEC(struct source) sources;
	bool states;
	struct state_span span;
	uint64_t refused;
};

static bool has_column(const struct recorded_table *table, const char *name)
{
	vec_each(&table->columns, column)
		if (strcmp(*column, name) == 0)
			return true;
	return false;
}

/* Fields without a column stay unknown; columns without a field are not read. */
static void add_select(struct rows *rows, const struct recorded_table *table, struct buf *sql)
{
	struct field_ref at = {};
	int number = 0;

	buf_add_text(sql, "SELECT ");
	if (table->states) {
		buf_add_text(sql, "first, last, pos");
		number = 3;
	}
	while (shape_next(&rows->shape, &at)) {
		_cleanup_free_ char *moment = table->states && at.field->moment ? moment_column(at.field) : NULL;
		bool is_moment = moment && has_column(table, moment);

		/* Earlier recordings hold the duration itself. */
		if (!is_moment && !has_column(table, at.field->name))
			continue;
		buf_add_text(sql, number ? ", " : "");
		sql_add_name(sql, is_moment ? moment : at.field->name);
		vec_push(&rows->sources, (struct source){at, number++, is_moment});
	}
	if (number == 0)
		buf_add_text(sql, "0");
	buf_add_text(sql, " FROM main.");
	sql_add_name(sql, table->name);
}

static void add_range(const struct recorded_table *table, struct buf *sql)
{
	if (table->states)
		buf_add_text(sql, " WHERE last >= ?1 AND first <= ?2");
	else if (has_column(table, "time_ns"))
		buf_add_text(sql, " WHERE (time_ns >= ?1 AND time_ns <= ?2) OR time_ns IS NULL");
	buf_add_text(sql, " ORDER BY rowid");
}

int rows_open(struct recording *recording, const struct rows_request *request, struct rows **ret_rows, struct why *why)
{
	const struct recorded_table *table = recording_find(recording, request->name);
	_cleanup_(rows_closep) struct rows *rows = NULL;
	_cleanup_buf_ struct buf sql = BUF_INIT(SQL_MAX);
	uint64_t scale, to;
	int r;

	if (!table)
		return why_set(why, -ENOENT, "%s has no table %s", recording->path, request->name);
	rows = xzalloc(sizeof(*rows));
	rows->recording = recording;
	rows->shape = *request->shape;
	rows->states = table->states;
	add_select(rows, table, &sql);
	add_range(table, &sql);
	r = recording_prepare(recording, buf_text(&sql), &rows->statement, why);
	if (r < 0)
		return r;
	scale = table->states ? NSEC_PER_MSEC : 1;
	to = request->to_ns ? min_of(request->to_ns / scale, (uint64_t)INT64_MAX) : (uint64_t)INT64_MAX;
	(void)sqlite3_bind_int64(rows->statement, 1,
				 (sqlite3_int64)min_of(request->from_ns / scale, (uint64_t)INT64_MAX));
	(void)sqlite3_bind_int64(rows->statement, 2, (sqlite3_int64)to);
	*ret_rows = take_ptr(rows);
	return 0;
}

/* The bits of the moment stand in the field until somebody knows the sample (rows_set_durations). */
static int read_moment(const struct field *field, sqlite3_stmt *statement, int number, void *data)
{
	int64_t ns = sqlite3_column_int64(statement, number);

	if (sqlite3_column_type(statement, number) == SQLITE_NULL)
		return 0;
	if (sqlite3_column_type(statement, number) != SQLITE_INTEGER)
		return -EINVAL;
	memcpy((char *)data + field->offset, &ns, sizeof(ns));
	return 0;
}

void rows_set_durations(const struct rows *rows, void *const *parts, int64_t reference_ns)
{
	vec_each(&rows->sources, source) {
		void *data = parts[source->ref.part];
		int64_t ns;

		if (!source->is_moment || value_get(source->ref.field, data).class == VALUE_UNKNOWN)
			continue;
		memcpy(&ns, (const char *)data + source->ref.field->offset, sizeof(ns));
		moment_set(source->ref.field, data, reference_ns, ns);
	}
}

static int read_row(struct rows *rows, void *const *parts)
{
	int r = 0;

	for (unsigned i = 0; i < rows->shape.count; i++) {
		const struct record_type *type = rows->shape.types[i];

		memset(parts[i], 0, type->size);
		for (uint32_t field = 0; field < type->field_count; field++)
			value_set_unknown(&type->fields[field], parts[i]);
	}
	if (rows->states)
		rows->span = (struct state_span){sqlite3_column_int64(rows->statement, 0),
						 sqlite3_column_int64(rows->statement, 1),
						 sqlite3_column_int64(rows->statement, 2)};
	for (size_t i = 0; r == 0 && i < rows->sources.count; i++) {
		const struct source *source = &rows->sources.items[i];

		r = (source->is_moment ? read_moment : column_read)(source->ref.field, rows->statement, source->number,
								    parts[source->ref.part]);
	}
	return r;
}

int rows_next(struct rows *rows, void *const *parts, struct why *why)
{
	int code;

	while ((code = sqlite3_step(rows->statement)) == SQLITE_ROW) {
		int r = read_row(rows, parts);

		if (r == 0)
			return 1;
		/* Skip an invalid row. */
		rows_free_parts(&rows->shape, parts);
		rows->refused++;
	}
	return code == SQLITE_DONE ? 0 : recording_fail(rows->recording, code, why);
}

void rows_free_parts(const struct shape *shape, void *const *parts)
{
	for (unsigned i = 0; i < shape->count; i++)
		column_free_cells(shape->types[i], parts[i]);
}

const struct state_span *rows_span(const struct rows *rows)
{
	return &rows->span;
}

uint64_t rows_refused(const struct rows *rows)
{
	return rows->refused;
}

void rows_close(struct rows *rows)
{
	if (!rows)
		return;
	sqlite3_finalize(rows->statement);
	vec_done(&rows->sources);
	free(rows);
}

int recording_lost(struct recording *recording, const char *source, uint64_t *lost, struct why *why)
{
	_cleanup_(rows_closep) struct rows *rows = NULL;
	struct shape shape = SHAPE_OF(&loss_type);
	struct rows_request request = {.name = loss_type.name, .shape = &shape};
	struct loss_record loss;
	int r = rows_open(recording, &request, &rows, why);

	while (r == 0 && (r = rows_next(rows, (void *[]){&loss}, why)) > 0) {
		if (loss.source && loss.count != UINT64_MAX && strcmp(loss.source, source) == 0)
			*lost += loss.count;
		rows_free_parts(&shape, (void *[]){&loss});
		r = 0;
	}
	return r;
}

int recording_check_interface(struct recording *recording, const char *dev, struct why *why)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	_cleanup_buf_ struct buf shown = BUF_INIT(256);
	const struct recorded_table *links = recording_find(recording, "link");
	int code, r;

	if (!dev || !links || !has_column(links, "dev"))
		return 0;
	r = recording_prepare(recording, "SELECT 1 FROM main.link WHERE dev = ?1 LIMIT 1", &statement, why);
	if (r < 0)
		return r;
	(void)sqlite3_bind_text(statement, 1, dev, -1, SQLITE_STATIC);
	code = sqlite3_step(statement);
	if (code == SQLITE_ROW)
		return 0;
	if (code != SQLITE_DONE)
		return recording_fail(recording, code, why);
	text_add_terminal(&shown, dev, strnlen(dev, 40));
	return why_set(why, -ENODEV, "there is no interface '%s' in the recording", buf_text(&shown));
}
