/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest sql: SQL queries of a recording, read-only. */
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "event/core/event.h"
#include "fleet/fleet_query.h"
#include "run/command.h"
#include "run/output_exit.h"
#include "store/views.h"
#include "view/format.h"
#include "view/output.h"

/* Rows inspected to find the type of a column. */
#define LOOK_ROWS   100000
#define COLUMNS_MAX 1000

struct config {
	const char *file;
	const char *query;
	bool schema;
	uint64_t timeout_ns;
	struct fleet_options fleet;
	struct output_options output;
};

static const struct option_spec options[] = {
	OPTION(struct config, schema, FLAG, "schema", 0, NULL,
	       "list the tables and columns of the recording, with their meaning"),
	OPTION(struct config, timeout_ns, SECONDS, "timeout", 0, "SECONDS",
	       "stop the query after this time (default: never)"),
	OPTION_GROUP(struct config, fleet, fleet_option_table),
	OPTION_GROUP(struct config, output, output_option_table),
	POSITIONAL(struct config, file, TEXT, "FILE", "the recording; not with --fleet", .file = FILE_INPUT),
	POSITIONAL(struct config, query, TEXT, "SELECT", "the query"),
	OPTION_END,
};

static void say_rows(uint64_t count)
{
	_cleanup_buf_ struct buf text = BUF_INIT(64);

	format_add_plural(&text, count, "row");
	log_info("%s", buf_text(&text));
}

/* A result as a record: every column has eight bytes, its type is that of its values. */
struct result {
	struct recording *recording;
	sqlite3_stmt *statement;
	struct record_type type;
	VEC(struct field) fields;
	VEC(char *) names;
	VEC(int) kinds; /* SQLITE_INTEGER, FLOAT, TEXT; SQLITE_NULL while nothing was seen */
	uint64_t *values;
	uint64_t rows, unfit;
};

static void result_done(struct result *result)
{
	sqlite3_finalize(result->statement);
	vec_each(&result->names, name)
		free(*name);
	vec_done(&result->names);
	vec_done(&result->fields);
	vec_done(&result->kinds);
	free(result->values);
}

static int sql_error(struct result *result, int code, struct why *why)
{
	const char *message = sqlite3_errmsg(result->recording ? recording_db(result->recording) : NULL);
	_cleanup_buf_ struct buf shown = BUF_INIT(1024);

	if ((code & 0xff) != SQLITE_ERROR && (code & 0xff) != SQLITE_AUTH)
		return recording_fail(result->recording, code, why);
	text_add_terminal(&shown, message, strnlen(message, 400));
	return why_set(why, -EINVAL, "%s%s", buf_text(&shown),
		       (code & 0xff) == SQLITE_AUTH ? " (recordings are read-only)" : "");
}

/* --- what the columns hold --- */

static int wider(int a, int b)
{
	if (a == SQLITE_NULL || b == SQLITE_NULL)
		return a == SQLITE_NULL ? b : a;
	if (a == b)
		return a;
	return a <= SQLITE_FLOAT && b <= SQLITE_FLOAT ? SQLITE_FLOAT : SQLITE_TEXT;
}

static int look_at_rows(struct result *result, struct why *why)
{
	int code;

	for (unsigned row = 0; row < LOOK_ROWS; row++) {
		code = sqlite3_step(result->statement);
		if (code == SQLITE_DONE)
			break;
		if (code != SQLITE_ROW)
			return sql_error(result, code, why);
		for (size_t i = 0; i < result->kinds.count; i++)
			result->kinds.items[i] =
				wider(result->kinds.items[i], sqlite3_column_type(result->statement, (int)i));
	}
	(void)sqlite3_reset(result->statement);
	return 0;
}

/* An unchanged field is shown as the field is. */
static const struct field *origin_of(const struct result *result, int number)
{
	const char *table = sqlite3_column_table_name(result->statement, number),
		   *column = sqlite3_column_origin_name(result->statement, number);

	return table && column ? views_find_field(table, column) : NULL;
}

static void set_integer_kind(struct field *field, const struct field *origin)
{
	field->kind = KIND_ID;
	field->store = STORE_I64;
	if (!origin)
		return;
	field->exact = origin->exact;
	field->as_bits = origin->as_bits;
	switch (origin->kind) {
	case KIND_TIME:
	case KIND_HEX:
		field->store = STORE_U64;
		field->kind = origin->kind;
		return;
	case KIND_COUNT:
	case KIND_BYTES:
	case KIND_DURATION:
		field->kind = origin->kind;
		field->unit = origin->unit;
		return;
	default:
		return;
	}
}

static void make_fields(struct result *result)
{
	for (size_t i = 0; i < result->kinds.count; i++) {
		struct field field = {.name = result->names.items[i],
				      .help = "a column of the result",
				      .offset = (uint32_t)(i * sizeof(uint64_t)),
				      .size = sizeof(uint64_t)};

		if (result->kinds.items[i] == SQLITE_INTEGER) {
			set_integer_kind(&field, origin_of(result, (int)i));
		} else if (result->kinds.items[i] == SQLITE_FLOAT) {
			const struct field *origin = origin_of(result, (int)i);

			field.kind = KIND_RATIO;
			field.store = STORE_DOUBLE;
			field.unit = origin ? origin->unit : NULL;
		} else {
			field.kind = KIND_TEXT;
			field.store = STORE_STRING;
		}
		vec_push(&result->fields, field);
	}
	result->values = xzalloc((result->fields.count + 1) * sizeof(*result->values));
	result->type = (struct record_type){.name = "answer",
					    .help = "a row of the result",
					    .fields = result->fields.items,
					    .field_count = (uint32_t)result->fields.count,
					    .size = (uint32_t)(result->fields.count * sizeof(uint64_t))};
}

static bool name_is_taken(const struct result *result, const char *name)
{
	vec_each(&result->names, other)
		if (strcmp(*other, name) == 0)
			return true;
	return false;
}

static void name_columns(struct result *result)
{
	int count = min_of(sqlite3_column_count(result->statement), COLUMNS_MAX);

	for (int i = 0; i < count; i++) {
		const char *name = sqlite3_column_name(result->statement, i);
		char *own = xstrdup(name ?: "");

		for (unsigned n = 2; name_is_taken(result, own); n++) {
			free(own);
			own = xasprintf("%s_%u", name, n);
		}
		vec_push(&result->names, own);
		vec_push(&result->kinds, SQLITE_NULL);
	}
}

static int ask(struct result *result, const char *query, struct why *why)
{
	const char *rest;
	int code = sqlite3_prepare_v2(recording_db(result->recording), query, -1, &result->statement, &rest);

	if (code != SQLITE_OK)
		return sql_error(result, code, why);
	if (!result->statement)
		return why_set(why, -EINVAL, "the query is empty");
	if (rest[strspn(rest, " \t\r\n;")])
		return why_set(why, -EINVAL, "one query at a time");
	name_columns(result);
	code = look_at_rows(result, why);
	if (code == 0)
		make_fields(result);
	return code;
}

/* --- rows --- */

static const char *text_of(const struct result *result, int number, struct buf *blob)
{
	const uint8_t *bytes;
	int n;

	if (sqlite3_column_type(result->statement, number) != SQLITE_BLOB)
		return (const char *)sqlite3_column_text(result->statement, number);
	bytes = sqlite3_column_blob(result->statement, number);
	n = sqlite3_column_bytes(result->statement, number);
	buf_add_text(blob, "x'");
	for (int i = 0; i < n; i++)
		buf_add_format(blob, "%02x", bytes[i]);
	buf_add_char(blob, '\'');
	return buf_text(blob);
}

static void read_value(struct result *result, int number, struct buf *blob)
{
	const struct field *field = &result->fields.items[number];
	int kind = sqlite3_column_type(result->statement, number);
	uint64_t *at = &result->values[number];
	const char *text;
	double real;

	value_set_unknown(field, result->values);
	if (kind == SQLITE_NULL)
		return;
	if (field->store == STORE_STRING) {
		text = text_of(result, number, blob);
		memcpy(at, &text, sizeof(text));
	} else if (kind == SQLITE_INTEGER && field->store != STORE_DOUBLE) {
		*at = (uint64_t)sqlite3_column_int64(result->statement, number);
	} else if (kind <= SQLITE_FLOAT && field->store == STORE_DOUBLE) {
		real = sqlite3_column_double(result->statement, number);
		memcpy(at, &real, sizeof(real));
	} else {
		result->unfit++;
	}
}

static int show(struct result *result, struct output *output, struct why *why)
{
	struct buf *blobs = xzalloc((result->fields.count + 1) * sizeof(*blobs));
	int code;

	for (size_t i = 0; i < result->fields.count; i++)
		blobs[i] = BUF_INIT(16 << 20);
	while ((code = sqlite3_step(result->statement)) == SQLITE_ROW) {
		for (size_t i = 0; i < result->fields.count; i++) {
			buf_clear(&blobs[i]);
			read_value(result, (int)i, &blobs[i]);
		}
		result->rows += output_record(output, &RECORD_OF(result->values));
	}
	for (size_t i = 0; i < result->fields.count; i++)
		buf_done(&blobs[i]);
	free(blobs);
	return code == SQLITE_DONE ? 0 : sql_error(result, code, why);
}

static int answer(const struct config *config, struct recording *recording, const char *query)
{
	_cleanup_(result_done) struct result result = {.recording = recording};
	struct output *output = NULL;
	struct why why = {};
	struct shape shape;
	int r, code;

	recording_limit_time(recording, config->timeout_ns);
	r = ask(&result, query, &why);
	shape = SHAPE_OF(&result.type);
	if (r == 0)
		r = output_open(&config->output, &shape, &output, &why);
	if (r < 0)
		return output_refused("sql", r, &why);
	r = show(&result, output, &why);
	code = output_exit_code("sql", output_close(output));
	if (r < 0)
		return command_fail(EXIT_IO, "sql: %s", why.text);
	if (result.unfit)
		log_warn("%llu value%s shown as unknown: of another type than the column",
			 (unsigned long long)result.unfit, text_plural(result.unfit));
	say_rows(result.rows);
	return code;
}

/* --- the fleet --- */

struct fleet_show {
	const struct config *config;
	struct output *output;
	uint64_t rows;
	struct why *why;
};

static int show_type(void *context, const struct record_type *type)
{
	struct fleet_show *show = context;
	struct shape shape = SHAPE_OF(type);

	return output_open(&show->config->output, &shape, &show->output, show->why);
}

static bool show_row(void *context, const void *row)
{
	struct fleet_show *show = context;

	show->rows += output_record(show->output, &RECORD_OF(row));
	return true;
}

static const char schema_sql[] = "SELECT table, name AS column, type FROM system.columns WHERE database = "
				 "currentDatabase()";

static int ask_fleet(const struct config *config)
{
	/* There is no file: the first word is the query. */
	const char *query = config->schema ? schema_sql : config->file;
	struct fleet_link link = {};
	struct why why = {};
	struct fleet_show show = {.config = config, .why = &why};
	struct answer_ops ops = {.type = show_type, .row = show_row, .context = &show};
	int r, code;

	if (config->query || (config->schema && config->file))
		return command_fail(EXIT_USAGE, "sql: --fleet excludes FILE: nest sql --fleet URL \"SELECT ...\"");
	if (!query)
		return command_fail(EXIT_USAGE, "sql: the query is missing: nest sql --fleet URL \"SELECT ...\"");
	r = fleet_link_open(&config->fleet, &link, &why);
	if (r < 0)
		return command_fail(r == -EINVAL ? EXIT_USAGE : EXIT_IO, "sql: %s", why.text);
	link.timeout_ns = config->timeout_ns;
	r = fleet_query(&link, query, &ops, &why);
	if (show.output)
		code = output_exit_code("sql", output_close(show.output));
	else
		code = r < 0 ? output_refused("sql", r == -EINVAL || r == -ECANCELED ? r : -EIO, &why) : EXIT_DONE;
	fleet_link_close(&link);
	if (r < 0 && !show.output)
		return code;
	if (r < 0)
		return command_fail(EXIT_IO, "sql: %s", why.text);
	if (link.unfit)
		log_warn("%llu value%s shown as unknown: of another type than the column",
			 (unsigned long long)link.unfit, text_plural(link.unfit));
	say_rows(show.rows);
	return code;
}

static int run(const void *data)
{
	const struct config *config = data;
	_cleanup_(recording_closep) struct recording *recording = NULL;
	struct why why = {};
	int r;

	if (config->fleet.url)
		return ask_fleet(config);
	if (!config->file)
		return command_fail(EXIT_USAGE, "sql: FILE is missing: nest sql FILE \"SELECT ...\", or --fleet URL");
	if (!config->query && !config->schema)
		return command_fail(EXIT_USAGE, "sql: the query is missing: nest sql FILE \"SELECT ...\", or --schema "
						"to list tables and columns");
	r = recording_open(config->file, &recording, &why);
	if (r == 0)
		r = views_make(recording, &why);
	registry_each(event_union, entry)
		if (r == 0)
			r = views_join(recording, (*entry)->name, (*entry)->events, event_union_count(*entry), &why);
	if (r < 0)
		return command_fail(EXIT_IO, "sql: %s", why.text);
	return answer(config, recording,
		      config->schema ? "SELECT \"table\", \"column\", kind, unit, help FROM main.\"column\""
				     : config->query);
}

static const char *const examples[] = {
	"nest sql day.nest --schema",
	"the tables and columns, with their meaning",
	"nest sql day.nest \"SELECT time, cause, module, certainty FROM v_finding\"",
	"findings of the diagnosis, with readable times",
	"nest sql day.nest \"SELECT raddr, max(srtt_ns) FROM tcp JOIN socket ON cookie = tcp_cookie GROUP BY 1\" "
	"--json",
	"the largest SRTT by peer, as JSON",
	"nest sql --fleet http://reader:secret@clickhouse:8123/nest \"SELECT host, cause, count() FROM finding GROUP "
	"BY 1, "
	"2\"",
	"findings by host and cause, of the whole fleet",
	NULL,
};

static const struct command sql_command = {
	.name = "sql",
	.summary = "SQL query of a recording or of the fleet, read-only",
	.description =
		"Each record type is a table; each table has a view v_TABLE with readable times, handles and flags. "
		"The file is opened read-only, and no code in it (views, triggers) is run. The SQL dialect is that of "
		"SQLite.\n\nWith --fleet the query is sent to ClickHouse, in its dialect; tables are named as in a "
		"recording, with host and boot in front.",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct config),
	.run = run,
};
COMMAND(sql_command);
