/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list of tables, with their fields. */
#include "base/exit_code.h"
#include "record/bare.h"
#include "serve/serve.h"
#include "serve/table_name.h"
#include "view/format.h"
#include "view/json.h"

#define BODY_MAX ((size_t)4 << 20)

struct listed_field {
	const char *name;
	const char *kind;
	const char *unit;
	const char *help;
};

static const struct field listed_field_fields[] = {
	FIELD(struct listed_field, name, TEXT, "name, for where, show and sort"),
	FIELD(struct listed_field, kind, TEXT, "what a value means"),
	FIELD(struct listed_field, unit, TEXT, "unit, where the kind does not define it"),
	FIELD(struct listed_field, help, TEXT, "meaning"),
};
static RECORD_TYPE(listed_field_type, "serve.field", struct listed_field, listed_field_fields, "a field of a table");

struct listed_table {
	const char *name;
	const char *record;
	const char *help;
	struct list fields;
	struct list columns;
};

static const struct field listed_table_fields[] = {
	FIELD(struct listed_table, name, TEXT, "name of the table"),
	FIELD(struct listed_table, record, TEXT, "record type of its rows"),
	FIELD(struct listed_table, help, TEXT, "what is in it"),
	FIELD(struct listed_table, fields, LIST, "all fields", .element = &listed_field_type),
	FIELD(struct listed_table, columns, LIST, "names of the fields to show first", .element = &bare_text_type),
};
static RECORD_TYPE(listed_table_type, "serve.table", struct listed_table, listed_table_fields,
		   "a table that can be asked for");

struct table_list {
	struct list tables;
};

static const struct field table_list_fields[] = {
	FIELD(struct table_list, tables, LIST, "tables of commands, then of the snapshot",
	      .element = &listed_table_type),
};
static RECORD_TYPE(table_list_type, "serve.tables", struct table_list, table_list_fields, "all tables");

struct listing {
	const char *name;
	const char *help;
	struct buf body;
};

static bare_texts list_columns(const struct look *look)
{
	bare_texts columns = {};
	struct field_ref at = {};

	if (look->columns)
		for (const struct output_column *column = look->columns; column->field; column++)
			vec_push(&columns, column->field);
	else
		while (shape_next(look->shape, &at))
			if (!at.field->hidden)
				vec_push(&columns, at.field->name);
	return columns;
}

/* What is borrowed is gone when this returns: it is written at once. */
static int list_look(const struct look *look, void *context)
{
	struct listing *listing = context;
	VEC(struct listed_field) fields = {};
	bare_texts columns = list_columns(look);
	struct listed_table table = {
		.name = listing->name, .record = look->shape->types[0]->name, .help = listing->help};
	struct field_ref at = {};

	while (shape_next(look->shape, &at))
		vec_push(&fields, (struct listed_field){at.field->name, format_kind_name(at.field), at.field->unit,
							at.field->help});
	table.fields = BARE_LIST(&fields);
	table.columns = BARE_LIST(&columns);
	buf_add_text(&listing->body, listing->body.data[listing->body.len - 1] == '[' ? "" : ",");
	json_add_object(&listing->body, &listed_table_type, &table);
	vec_done(&fields);
	vec_done(&columns);
	return EXIT_DONE;
}

static void list_tables(struct http_request *request)
{
	struct listing listing = {.body = BUF_INIT(BODY_MAX)};

	buf_add_format(&listing.body, "{\"%s\":[", table_list_fields[0].name);
	table_name_each(list_look, &listing.name, &listing.help, &listing);
	buf_add_text(&listing.body, "]}");
	http_answer(request, 200, NULL, &listing.body);
}

static const struct http_route list_route = {
	.service = HTTP_SERVE,
	.method = "GET",
	.path = "/api/v1/tables",
	.summary = "all tables, with their fields and default columns",
	.answer = "serve.tables",
	.handle = list_tables,
};
HTTP_ROUTE(list_route);
