/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>

#include "base/parse.h"
#include "record/field_set.h"
#include "store/column.h"
#include "store/sql.h"
#include "view/json.h"

/* Longest list or stack as JSON. */
#define CELL_MAX ((size_t)1 << 20)

/* More frames than any stack has. */
#define FRAMES_MAX 1024

const char *column_sql_type(const struct field *field)
{
	switch (field->kind) {
	case KIND_RATIO:
		return "REAL";
	case KIND_ENUM:
	case KIND_ADDR:
	case KIND_ENDPOINT:
	case KIND_TEXT:
	case KIND_STACK:
	case KIND_LIST:
		return "TEXT";
	default:
		return "INTEGER";
	}
}

void column_init(struct column *column, struct field_ref ref)
{
	*column = (struct column){.ref = ref, .text = BUF_INIT(CELL_MAX)};
	if (ref.field->kind == KIND_ENUM)
		column->names = xzalloc(COLUMN_NAMES * sizeof(*column->names));
}

void column_done(struct column *column)
{
	buf_done(&column->text);
	free(column->names);
}

/* --- writing --- */

/* The name, if it maps back to the same value. */
static const char *enum_text(struct column *column, uint64_t value)
{
	struct enum_names *names = column->ref.field->names;
	const char *name;
	uint64_t back;

	if (value < COLUMN_NAMES && column->names[value])
		return column->names[value];
	name = enum_name_find(names, value);
	if (name && (enum_value_find(names, name, &back) < 0 || back != value))
		name = NULL;
	if (name && value < COLUMN_NAMES)
		column->names[value] = name;
	return name;
}

static int bind_enum(struct column *column, sqlite3_stmt *statement, int number, uint64_t value)
{
	const char *name = enum_text(column, value);

	if (name)
		return sqlite3_bind_text(statement, number, name, -1, SQLITE_STATIC);
	return sqlite3_bind_int64(statement, number, (sqlite3_int64)value);
}

static int bind_made_text(struct column *column, sqlite3_stmt *statement, int number, const struct value *value)
{
	struct buf *text = &column->text;

	buf_clear(text);
	if (value->class == VALUE_ADDR) {
		if (buf_grow(text, ADDR_TEXT_MAX))
			text->len = addr_format(value->addr, text->data);
	} else if (value->class == VALUE_ENDPOINT) {
		addr_format_endpoint(value->endpoint, text);
	} else {
		json_add_value(text, column->ref.field, value);
	}
	/* A truncated list is worse than none. */
	if (text->over) {
		buf_done(text);
		*text = BUF_INIT(CELL_MAX);
		return sqlite3_bind_null(statement, number);
	}
	return sqlite3_bind_text(statement, number, text->data, (int)text->len, SQLITE_STATIC);
}

int column_bind(struct column *column, sqlite3_stmt *statement, int number, const struct record *record)
{
	struct value value = record_get(record, column->ref);

	switch (value.class) {
	case VALUE_UNKNOWN:
		return sqlite3_bind_null(statement, number);
	case VALUE_UINT:
		if (column->names)
			return bind_enum(column, statement, number, value.uint);
		return sqlite3_bind_int64(statement, number, (sqlite3_int64)value.uint);
	case VALUE_INT:
		return sqlite3_bind_int64(statement, number, value.sint);
	case VALUE_REAL:
		return sqlite3_bind_double(statement, number, value.real);
	case VALUE_TEXT:
		return sqlite3_bind_text(statement, number, value.text, (int)min_of(value.len, CELL_MAX),
					 SQLITE_STATIC);
	default:
		return bind_made_text(column, statement, number, &value);
	}
}

/* --- reading --- */

static int read_integer(const struct field *field, sqlite3_int64 integer, void *data)
{
	__int128 value = integer;

	switch (field->kind) {
	case KIND_COUNT:
	case KIND_ID:
	case KIND_HEX:
	case KIND_BYTES:
	case KIND_DURATION:
	case KIND_TIME:
	case KIND_FLAGS:
		/* SQLite has no unsigned 64-bit type: keep the bits. */
		if (field->store == STORE_U64)
			value = (uint64_t)integer;
		return field_set_integer(field, data, value);
	case KIND_BOOL:
		return integer == 0 || integer == 1 ? field_set_integer(field, data, value) : -EINVAL;
	default:
		return -EINVAL;
	}
}

static int read_real(const struct field *field, double real, void *data)
{
	if (field->store != STORE_DOUBLE)
		return -EINVAL;
	memcpy((char *)data + field->offset, &real, sizeof(real));
	return 0;
}

static int read_stack(const struct field *field, const char *text, size_t len, void *data)
{
	json_t *array = json_loadb(text, len, 0, NULL), *item;
	struct stack stack = {};
	size_t count = json_array_size(array), i;
	const char **frames;
	int r = array && json_is_array(array) && count <= FRAMES_MAX ? 0 : -EINVAL;

	json_array_foreach(array, i, item) if (!json_is_string(item)) r = -EINVAL;
	if (r == 0) {
		frames = xzalloc((count + 1) * sizeof(*frames));
		json_array_foreach(array, i, item) frames[i] = xstrdup(json_string_value(item));
		stack = (struct stack){.frames = frames, .count = (uint32_t)count};
		memcpy((char *)data + field->offset, &stack, sizeof(stack));
	}
	json_decref(array);
	return r;
}

/* A name unknown to this kernel stays a name. A number without a name is also text. */
static int read_enum(const struct field *field, const char *text, void *data)
{
	/* The largest number means unknown. */
	uint64_t max = (UINT64_MAX >> (64 - 8 * field->size)) - 1, value;
	int r = 0;

	if (text[0] >= '0' && text[0] <= '9' && enum_value_find(field->names, text, &value) < 0)
		r = parse_u64(text, 0, max, &value);
	else
		r = enum_value_learn(field->names, text, max, &value);
	return r == 0 ? field_set_integer(field, data, value) : r;
}

static int read_text(const struct field *field, const char *text, size_t len, void *data)
{
	switch (field->kind) {
	case KIND_STACK:
		return read_stack(field, text, len, data);
	case KIND_LIST:
		/* Only for SQL; replayed records have none. */
		return 0;
	case KIND_HEX:
	case KIND_FLAGS:
		return -EINVAL;
	case KIND_ENUM:
		return read_enum(field, text, data);
	default:
		return field_set_text(field, data, text, len);
	}
}

int column_read(const struct field *field, sqlite3_stmt *statement, int number, void *data)
{
	const char *text;
	size_t len;

	switch (sqlite3_column_type(statement, number)) {
	case SQLITE_NULL:
		return 0;
	case SQLITE_INTEGER:
		if (field->kind == KIND_RATIO)
			return read_real(field, sqlite3_column_double(statement, number), data);
		return read_integer(field, sqlite3_column_int64(statement, number), data);
	case SQLITE_FLOAT:
		return read_real(field, sqlite3_column_double(statement, number), data);
	case SQLITE_TEXT:
		text = (const char *)sqlite3_column_text(statement, number);
		len = (size_t)sqlite3_column_bytes(statement, number);
		if (!text)
			return -ENOMEM;
		return read_text(field, text, len, data);
	default:
		return -EINVAL;
	}
}

void column_free_cells(const struct record_type *type, void *data)
{
	record_free_strings(type, data);
	for (uint32_t i = 0; i < type->field_count; i++) {
		char *at = (char *)data + type->fields[i].offset;
		struct stack stack;

		if (type->fields[i].store != STORE_STACK)
			continue;
		memcpy(&stack, at, sizeof(stack));
		for (uint32_t frame = 0; frame < stack.count; frame++)
			free((void *)stack.frames[frame]);
		free((void *)stack.frames);
		memset(at, 0, sizeof(stack));
	}
}

/* --- views --- */

static void add_flag_names(const struct field *field, const char *table, struct buf *sql)
{
	const struct enum_names *names = enum_names_get(field->names);

	buf_add_text(sql, "rtrim(");
	for (size_t i = 0; i < names->count; i++) {
		buf_add_format(sql, "%sCASE WHEN %s.", i ? " || " : "", table);
		sql_add_name(sql, field->name);
		buf_add_format(sql, " & %" PRIu64 " THEN '%s|' ELSE '' END", names->items[i].value,
			       names->items[i].name);
	}
	buf_add_text(sql, ", '|')");
}

bool column_add_readable(const struct field *field, const char *table, struct buf *sql)
{
	if (field->kind != KIND_TIME && field->kind != KIND_HEX && field->kind != KIND_FLAGS)
		return false;
	if (field->kind == KIND_FLAGS && enum_names_get(field->names)->count == 0)
		return false;
	/* Unknown must not be shown as zero. */
	buf_add_format(sql, "CASE WHEN %s.", table);
	sql_add_name(sql, field->name);
	buf_add_text(sql, " IS NOT NULL THEN ");
	if (field->kind == KIND_FLAGS) {
		add_flag_names(field, table, sql);
	} else {
		buf_add_text(sql, field->kind == KIND_TIME ? "strftime('%Y-%m-%d %H:%M:%f', " : "printf('0x%x', ");
		buf_add_format(sql, "%s.", table);
		sql_add_name(sql, field->name);
		buf_add_text(sql, field->kind == KIND_TIME ? " / 1e9, 'unixepoch')" : ")");
	}
	buf_add_text(sql, " END");
	return true;
}
