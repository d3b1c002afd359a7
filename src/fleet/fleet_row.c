/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/fleet_row.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "base/text.h"
#include "view/json.h"

/* Longest list or stack; more columns than any table has. */
#define CELL_MAX    ((size_t)1 << 18)
#define COLUMNS_MAX 400

static void add_quoted(struct buf *out, const char *text, size_t len)
{
	buf_add_char(out, '"');
	text_add_json(out, text, len);
	buf_add_char(out, '"');
}

void fleet_row_add_head(struct buf *out, const struct fleet_origin *origin)
{
	buf_add_text(out, "{\"host\":");
	add_quoted(out, origin->host, strlen(origin->host));
	buf_add_text(out, ",\"boot\":");
	add_quoted(out, origin->boot, strlen(origin->boot));
	buf_add_format(out, ",\"stream\":%" PRIu64 ",\"row\":", origin->stream);
}

/* JSON inside a text; one that is too long would be cut, so it is unknown. */
static void add_nested(struct buf *out, const struct field *field, const struct value *value)
{
	_cleanup_buf_ struct buf text = BUF_INIT(CELL_MAX);

	json_add_value(&text, field, value);
	if (text.over)
		buf_add_text(out, "null");
	else
		add_quoted(out, buf_text(&text), text.len);
}

static void add_cell(struct buf *out, const struct field *field, const struct value *value)
{
	switch (value->class) {
	case VALUE_STACK:
	case VALUE_LIST:
		add_nested(out, field, value);
		return;
	case VALUE_UINT:
		if (field->kind == KIND_BOOL || field->kind == KIND_FLAGS || field->kind == KIND_HEX) {
			buf_add_format(out, "%" PRIu64, value->uint);
			return;
		}
		break;
	default:
		break;
	}
	json_add_value(out, field, value);
}

static void add_name(struct buf *out, const struct field *field)
{
	buf_add_text(out, ",\"");
	fleet_add_column_name(out, field);
	buf_add_text(out, "\":");
}

/* A column that is not there is unknown; the time orders the table and is always there. */
uint64_t fleet_row_add_cells(struct buf *out, const struct shape *shape, const struct record *record)
{
	struct field_ref at = {};
	uint64_t time_ns = 0;

	while (shape_next(shape, &at)) {
		struct value value = record_get(record, at);

		if (value.class == VALUE_UNKNOWN)
			continue;
		if (strcmp(at.field->name, "time_ns") == 0) {
			time_ns = value.uint;
			continue;
		}
		add_name(out, at.field);
		add_cell(out, at.field, &value);
	}
	buf_add_format(out, ",\"time_ns\":%" PRIu64, time_ns);
	return time_ns;
}

/* --- rows of recordings --- */

static bool is_text(const struct field *field)
{
	switch (field->kind) {
	case KIND_ENUM:
	case KIND_ADDR:
	case KIND_ENDPOINT:
	case KIND_TEXT:
	case KIND_STACK:
	case KIND_LIST:
		return true;
	default:
		return false;
	}
}

/* SQLite has no unsigned 64-bit type: recordings keep the bits. */
static void add_stored_integer(struct buf *out, const struct field *field, sqlite3_int64 value)
{
	if (field->store == STORE_U64)
		buf_add_format(out, "%" PRIu64, (uint64_t)value);
	else
		buf_add_format(out, "%" PRId64, (int64_t)value);
}

static void add_stored(struct buf *out, sqlite3_stmt *statement, int column, const struct field *field)
{
	int class = sqlite3_column_type(statement, column);
	const char *text;
	double real;

	if (is_text(field) && (class == SQLITE_TEXT || class == SQLITE_INTEGER)) {
		text = (const char *)sqlite3_column_text(statement, column);
		add_name(out, field);
		add_quoted(out, text ?: "", text ? (size_t)sqlite3_column_bytes(statement, column) : 0);
	} else if (!is_text(field) && class == SQLITE_INTEGER) {
		add_name(out, field);
		add_stored_integer(out, field, sqlite3_column_int64(statement, column));
	} else if (field->kind == KIND_RATIO && class == SQLITE_FLOAT) {
		real = sqlite3_column_double(statement, column);
		if (!isfinite(real))
			return;
		add_name(out, field);
		json_add_value(out, field, &(struct value){.class = VALUE_REAL, .real = real});
	}
}

uint64_t fleet_row_add_stored(struct buf *out, sqlite3_stmt *statement, int first_column,
			      const struct field *const *fields, size_t count)
{
	uint64_t time_ns = 0;

	for (size_t i = 0; i < count; i++) {
		int column = first_column + (int)i;

		if (strcmp(fields[i]->name, "time_ns") != 0)
			add_stored(out, statement, column, fields[i]);
		else if (sqlite3_column_type(statement, column) == SQLITE_INTEGER)
			time_ns = (uint64_t)max_of(sqlite3_column_int64(statement, column), (sqlite3_int64)0);
	}
	buf_add_format(out, ",\"time_ns\":%" PRIu64, time_ns);
	return time_ns;
}

/* --- checking --- */

/* Scalars only, and the time of the row, which orders the table, is a number. */
static int check_cells(json_t *object, struct why *why)
{
	json_t *time = json_object_get(object, "time_ns"), *value;
	const char *key;

	if (json_object_size(object) > COLUMNS_MAX)
		return why_set(why, -EINVAL, "a row has more than %d columns", COLUMNS_MAX);
	if (time && !json_is_integer(time))
		return why_set(why, -EINVAL, "a row has a time that is no number");
	json_object_foreach(object, key, value) if (json_is_object(value) || json_is_array(value)) return why_set(
		why, -EINVAL, "a row is not flat");
	return 0;
}

static int check_line(const char *line, size_t len, const struct buf *head, uint64_t row, struct why *why)
{
	char number[24];
	size_t digits = (size_t)snprintf(number, sizeof(number), "%" PRIu64, row), at = head->len + digits;
	json_t *object;
	int r;

	if (len <= at || memcmp(line, head->data, head->len) != 0 || memcmp(line + head->len, number, digits) != 0 ||
	    (line[at] != ',' && line[at] != '}'))
		return why_set(why, -EINVAL, "a row is of another host, or has the wrong number");
	/* The key again, further behind, would be another key. */
	object = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
	if (!object)
		return why_set(why, -EINVAL, "a row is not JSON");
	r = check_cells(object, why);
	json_decref(object);
	return r;
}

int fleet_row_check(const char *text, size_t len, const struct fleet_origin *origin, uint64_t first, uint64_t rows,
		    struct why *why)
{
	_cleanup_buf_ struct buf head = BUF_INIT(4096);
	const char *at = text, *end = text + len;
	uint64_t count = 0;
	int r = 0;

	fleet_row_add_head(&head, origin);
	for (; r == 0 && at < end; count++) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));

		if (!newline)
			return why_set(why, -EINVAL, "the last row is cut");
		r = check_line(at, (size_t)(newline - at), &head, first + count, why);
		at = newline + 1;
	}
	if (r == 0 && count != rows)
		r = why_set(why, -EINVAL, "the batch has %" PRIu64 " rows and says %" PRIu64, count, rows);
	return r;
}
