/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/kept_answer.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"

#define SQL_MAX ((size_t)1 << 16)

static int keep_type(void *context, const struct record_type *type)
{
	struct kept_answer *kept = context;

	for (uint32_t i = 0; i < type->field_count; i++) {
		struct field field = type->fields[i];

		field.name = xstrdup(field.name);
		vec_push(&kept->fields, field);
	}
	kept->type = *type;
	kept->type.fields = kept->fields.items;
	return 0;
}

static bool keep_row(void *context, const void *row)
{
	struct kept_answer *kept = context;
	size_t at = kept->rows.count;

	if (kept->count >= KEPT_ROWS_MAX)
		return true;
	vec_reserve(&kept->rows, at + kept->type.size);
	memcpy(kept->rows.items + at, row, kept->type.size);
	kept->rows.count = at + kept->type.size;
	kept->count++;
	for (uint32_t i = 0; i < kept->type.field_count; i++) {
		char *text;

		if (kept->fields.items[i].store != STORE_STRING)
			continue;
		memcpy(&text, kept->rows.items + at + kept->fields.items[i].offset, sizeof(text));
		text = text ? xstrdup(text) : NULL;
		memcpy(kept->rows.items + at + kept->fields.items[i].offset, &text, sizeof(text));
	}
	return true;
}

const void *kept_answer_row(const struct kept_answer *kept, uint32_t number)
{
	return kept->rows.items + (size_t)number * kept->type.size;
}

void kept_answer_done(struct kept_answer *kept)
{
	for (uint32_t row = 0; row < kept->count; row++)
		vec_each(&kept->fields, field) {
			char *text;

			if (field->store != STORE_STRING)
				continue;
			memcpy(&text, (const char *)kept_answer_row(kept, row) + field->offset, sizeof(text));
			free(text);
		}
	vec_each(&kept->fields, field)
		free((char *)field->name);
	vec_done(&kept->fields);
	vec_done(&kept->rows);
}

struct value kept_answer_cell(const struct kept_answer *kept, uint32_t row, const char *name)
{
	for (uint32_t i = 0; i < kept->type.field_count; i++)
		if (strcmp(kept->fields.items[i].name, name) == 0)
			return value_get(&kept->fields.items[i], kept_answer_row(kept, row));
	return (struct value){.class = VALUE_UNKNOWN};
}

uint64_t kept_answer_number(const struct kept_answer *kept, uint32_t row, const char *name)
{
	struct value value = kept_answer_cell(kept, row, name);

	return value.class == VALUE_UINT ? value.uint : 0;
}

const char *kept_answer_text(const struct kept_answer *kept, uint32_t row, const char *name)
{
	struct value value = kept_answer_cell(kept, row, name);

	return value.class == VALUE_TEXT ? value.text : "-";
}

bool kept_answer_has(const struct kept_answer *kept, const char *name, const char *text)
{
	for (uint32_t i = 0; i < kept->count; i++)
		if (strcmp(kept_answer_text(kept, i, name), text) == 0)
			return true;
	return false;
}

uint64_t fleet_span_step(const struct fleet_span *span)
{
	uint64_t seconds = (span->to_ns - span->from_ns) / FLEET_STEPS / NSEC_PER_SEC;

	return max_of(seconds, UINT64_C(1)) * NSEC_PER_SEC;
}

static void add_span(struct buf *sql, const struct fleet_span *span)
{
	buf_add_format(sql, "time_ns BETWEEN %" PRIu64 " AND %" PRIu64, span->from_ns, span->to_ns);
	if (span->host) {
		buf_add_text(sql, " AND host = ");
		clickhouse_add_text(sql, span->host);
	}
}

static void add_sql(const struct fleet_link *link, const struct fleet_span *span, const char *text, struct buf *sql)
{
	while (*text) {
		size_t len = strcspn(text, "@");

		buf_add(sql, text, len);
		text += len;
		if (*text != '@')
			continue;
		text++;
		len = strspn(text, "abcdefghijklmnopqrstuvwxyz_");
		if (strncmp(text, "time", len) == 0)
			add_span(sql, span);
		else if (strncmp(text, "step", len) == 0)
			buf_add_format(sql, "%" PRIu64, fleet_span_step(span));
		else
			buf_add_format(sql, "`%.*s`%s", (int)len, text,
				       clickhouse_has_final(link->version) ? "" : " FINAL");
		text += len;
	}
}

int kept_answer_ask(struct fleet_link *link, const struct fleet_span *span, const char *question,
		    struct kept_answer *kept, struct why *why)
{
	_cleanup_buf_ struct buf sql = BUF_INIT(SQL_MAX);
	struct answer_ops ops = {.type = keep_type, .row = keep_row, .context = kept};
	int r;

	add_sql(link, span, question, &sql);
	kept->asked = true;
	r = fleet_query(link, buf_text(&sql), &ops, why);
	/* The question is not the user's: an error of the server, not of the command line. */
	return r == -EINVAL ? -EIO : r;
}

int kept_answer_tables(struct fleet_link *link, struct kept_answer *kept, struct why *why)
{
	struct fleet_span any = {};
	int r = kept_answer_ask(link, &any, "SELECT name FROM system.tables WHERE database = currentDatabase()", kept,
				why);

	if (r == 0 && kept->count == 0)
		return why_set(why, -ENOENT, "%s/%s has no tables: ship something first (nest agent --ship, nest ship)",
			       link->url.base, link->url.database);
	return r;
}
