/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/clickhouse.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parse.h"

/* Versions from which a server has something. 18.16 has LowCardinality as an experiment, and crashes with it. */
static const struct clickhouse_version has_low_cardinality = {19, 4}, has_codecs = {20, 1}, has_ttl = {20, 1},
				       has_final = {23, 1};

static bool at_least(struct clickhouse_version version, struct clickhouse_version wanted)
{
	return version.major != wanted.major ? version.major > wanted.major : version.minor >= wanted.minor;
}

int clickhouse_parse_version(const char *text, struct clickhouse_version *ret_version)
{
	const char *dot = strchr(text, '.'), *end = dot ? dot + 1 + strcspn(dot + 1, ".-\n") : NULL;
	_cleanup_free_ char *major = dot && dot - text < 8 ? xstrndup(text, (size_t)(dot - text)) : NULL,
			    *minor = dot && end - dot < 8 ? xstrndup(dot + 1, (size_t)(end - dot - 1)) : NULL;
	uint64_t numbers[2];

	if (!major || !minor || parse_decimal(major, 0, 9999, &numbers[0]) < 0 ||
	    parse_decimal(minor, 0, 9999, &numbers[1]) < 0)
		return -EINVAL;
	*ret_version = (struct clickhouse_version){(unsigned)numbers[0], (unsigned)numbers[1]};
	return 0;
}

bool clickhouse_has_final(struct clickhouse_version version)
{
	return at_least(version, has_final);
}

static void add_escaped(struct buf *sql, char quote, const char *text)
{
	buf_add_char(sql, quote);
	for (; *text; text++) {
		if (*text == quote || *text == '\\')
			buf_add_char(sql, '\\');
		buf_add_char(sql, *text);
	}
	buf_add_char(sql, quote);
}

void clickhouse_add_name(struct buf *sql, const char *name)
{
	add_escaped(sql, '`', name);
}

void clickhouse_add_text(struct buf *sql, const char *text)
{
	add_escaped(sql, '\'', text);
}

static void add_table_name(struct buf *sql, const char *database, const char *table)
{
	clickhouse_add_name(sql, database);
	buf_add_char(sql, '.');
	clickhouse_add_name(sql, table);
}

/* --- columns --- */

static const char *number_type(const struct field *field)
{
	switch (field->store) {
	case STORE_U8:
	case STORE_BOOL:
		return "UInt8";
	case STORE_U16:
		return "UInt16";
	case STORE_U32:
		return "UInt32";
	case STORE_I8:
		return "Int8";
	case STORE_I16:
		return "Int16";
	case STORE_I32:
		return "Int32";
	case STORE_I64:
		return "Int64";
	case STORE_DOUBLE:
		return "Float64";
	default:
		return "UInt64";
	}
}

static bool is_time(const struct field *field)
{
	return strcmp(field->name, "time_ns") == 0;
}

/* A text with few different values. */
static void add_word_type(struct buf *sql, const char *type, struct clickhouse_version version)
{
	buf_add_format(sql, at_least(version, has_low_cardinality) ? "LowCardinality(%s)" : "%s", type);
}

void clickhouse_add_type(struct buf *sql, const struct field *field, struct clickhouse_version version)
{
	switch (field->kind) {
	case KIND_ENUM:
	case KIND_TEXT:
		add_word_type(sql, "Nullable(String)", version);
		return;
	case KIND_ADDR:
	case KIND_ENDPOINT:
	case KIND_STACK:
	case KIND_LIST:
		buf_add_text(sql, "Nullable(String)");
		return;
	default:
		buf_add_format(sql, is_time(field) ? "%s" : "Nullable(%s)", number_type(field));
	}
}

static void add_column(struct buf *sql, const struct field *field, struct clickhouse_version version)
{
	_cleanup_buf_ struct buf name = BUF_INIT(256);

	fleet_add_column_name(&name, field);
	clickhouse_add_name(sql, buf_text(&name));
	buf_add_char(sql, ' ');
	clickhouse_add_type(sql, field, version);
	if (at_least(version, has_codecs))
		buf_add_text(sql, is_time(field) ? " CODEC(DoubleDelta, ZSTD(1))" : " CODEC(ZSTD(1))");
}

void clickhouse_add_create(struct buf *sql, const char *database, const struct fleet_table *table,
			   struct clickhouse_version version)
{
	const char *number_codec = at_least(version, has_codecs) ? " CODEC(DoubleDelta, ZSTD(1))" : "";
	struct field_ref at = {};

	buf_add_text(sql, "CREATE TABLE IF NOT EXISTS ");
	add_table_name(sql, database, table->name);
	buf_add_text(sql, " (host ");
	add_word_type(sql, "String", version);
	buf_add_text(sql, ", boot ");
	add_word_type(sql, "String", version);
	buf_add_format(sql, ", stream UInt64%s, row UInt64%s", number_codec, number_codec);
	while (shape_next(&table->shape, &at)) {
		buf_add_text(sql, ", ");
		add_column(sql, at.field, version);
	}
	/* A row that arrives twice has the same key and becomes one; a host's last hour lies together. */
	buf_add_text(sql, ") ENGINE = ReplacingMergeTree PARTITION BY toYYYYMMDD(toDateTime(intDiv(time_ns, "
			  "1000000000), 'UTC')) ORDER BY (host, time_ns, boot, stream, row)");
	if (at_least(version, has_ttl))
		buf_add_format(sql, " TTL toDateTime(intDiv(time_ns, 1000000000)) + INTERVAL %u DAY", table->days);
}

void clickhouse_add_list_columns(struct buf *sql, const char *database, const char *table)
{
	buf_add_text(sql, "SELECT name FROM system.columns WHERE database = ");
	clickhouse_add_text(sql, database);
	buf_add_text(sql, " AND table = ");
	clickhouse_add_text(sql, table);
	buf_add_text(sql, " FORMAT TabSeparated");
}

/* Whether one of the lines is the word. */
static bool has_line(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = text; at; at = strchr(at, '\n'), at = at ? at + 1 : NULL)
		if (strncmp(at, word, len) == 0 && (at[len] == '\n' || at[len] == '\0'))
			return true;
	return false;
}

bool clickhouse_add_alter(struct buf *sql, const char *database, const struct fleet_table *table, const char *columns,
			  struct clickhouse_version version)
{
	struct field_ref at = {};
	bool any = false;

	while (shape_next(&table->shape, &at)) {
		_cleanup_buf_ struct buf name = BUF_INIT(256);

		fleet_add_column_name(&name, at.field);
		if (has_line(columns, buf_text(&name)))
			continue;
		if (!any) {
			buf_add_text(sql, "ALTER TABLE ");
			add_table_name(sql, database, table->name);
		}
		buf_add_text(sql, any ? ", ADD COLUMN " : " ADD COLUMN ");
		add_column(sql, at.field, version);
		any = true;
	}
	return any;
}

/* --- requests --- */

/* The first row of a batch stands for all: a batch is stored as a whole. */
void clickhouse_add_find(struct buf *sql, const char *database, const char *table, const struct batch *batches,
			 size_t count)
{
	uint64_t min_ns = UINT64_MAX, max_ns = 0;

	for (size_t i = 0; i < count; i++) {
		min_ns = min_of(min_ns, batches[i].min_time_ns);
		max_ns = max_of(max_ns, batches[i].max_time_ns);
	}
	buf_add_text(sql, "SELECT DISTINCT host, boot, stream, row FROM ");
	add_table_name(sql, database, table);
	buf_add_format(sql, " WHERE time_ns BETWEEN %" PRIu64 " AND %" PRIu64 " AND (", min_ns, max_ns);
	for (size_t i = 0; i < count; i++) {
		buf_add_text(sql, i ? " OR (host = " : "(host = ");
		clickhouse_add_text(sql, batches[i].origin.host);
		buf_add_text(sql, " AND boot = ");
		clickhouse_add_text(sql, batches[i].origin.boot);
		buf_add_format(sql, " AND stream = %" PRIu64 " AND row = %" PRIu64 ")", batches[i].origin.stream,
			       batches[i].first_row);
	}
	buf_add_text(sql, ") FORMAT TabSeparated");
}

/* Text as TabSeparated writes it. */
static void add_tab_text(struct buf *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\\' || *text == '\'')
			buf_add_char(out, '\\');
		buf_add_char(out, *text);
	}
}

bool clickhouse_found(const char *answer, size_t len, const struct batch *batch)
{
	_cleanup_buf_ struct buf line = BUF_INIT(1024);
	const char *at;

	add_tab_text(&line, batch->origin.host);
	buf_add_char(&line, '\t');
	add_tab_text(&line, batch->origin.boot);
	buf_add_format(&line, "\t%" PRIu64 "\t%" PRIu64 "\n", batch->origin.stream, batch->first_row);
	at = memmem(answer, len, buf_text(&line), line.len);
	return at && (at == answer || at[-1] == '\n');
}

static void add_parameter(struct buf *path, const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~";

	for (; *text; text++) {
		if (strchr(plain, *text))
			buf_add_char(path, *text);
		else
			buf_add_format(path, "%%%02X", (uint8_t)*text);
	}
}

void clickhouse_add_path(struct buf *path, const char *statement)
{
	/* A later agent's columns must not stop an earlier collector's. */
	buf_add_text(path, "/?input_format_skip_unknown_fields=1");
	if (statement) {
		buf_add_text(path, "&query=");
		add_parameter(path, statement);
	}
}

/* The server waits with its answer until it knows that there is no error in it. */
void clickhouse_add_query(struct buf *path, const char *database, struct clickhouse_version version,
			  const char *statement)
{
	buf_add_text(path, "/?wait_end_of_query=1&default_format=TabSeparatedWithNamesAndTypes&database=");
	add_parameter(path, database);
	/* Rows that arrived twice are shown once. */
	if (clickhouse_has_final(version))
		buf_add_text(path, "&final=1");
	if (statement) {
		buf_add_text(path, "&query=");
		add_parameter(path, statement);
	} else {
		buf_add_text(path, "&readonly=2");
	}
}

void clickhouse_add_insert(struct buf *sql, const char *database, const char *table)
{
	buf_add_text(sql, "INSERT INTO ");
	add_table_name(sql, database, table);
	buf_add_text(sql, " FORMAT JSONEachRow");
}

/* The codes of ClickHouse for input that cannot be read; a server says 400 or 500 with them, by version. */
static const uint64_t codes_of_rows[] = {6, 25, 26, 27, 33, 38, 41, 53, 69, 70, 72, 117, 131, 349, 441, 467, 636};

bool clickhouse_refuses_rows(long status, const char *body, size_t len)
{
	static const char label[] = "Code: ";
	const char *at = memmem(body, len, label, sizeof(label) - 1);
	_cleanup_free_ char *digits = NULL;
	uint64_t code;

	if (status == 413)
		return true;
	if (!at || (status != 400 && status != 500))
		return false;
	at += sizeof(label) - 1;
	digits = xstrndup(at, strspn(at, "0123456789"));
	if (strlen(digits) > 6 || parse_decimal(digits, 0, UINT32_MAX, &code) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(codes_of_rows); i++)
		if (codes_of_rows[i] == code)
			return true;
	return false;
}
