/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Iterates over a recording's tables; the two plain formats, one line per row. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "diagnose/infer/diagnosis.h"
#include "event/core/event.h"
#include "report/export.h"
#include "store/recording_inside.h"
#include "store/rows.h"
#include "store/sql.h"
#include "view/json.h"

/* The record types of a row of that table; false when unknown to this version. */
static bool find_shape(const char *table, struct shape *ret_shape)
{
	registry_each(event, event) {
		_cleanup_free_ char *name = sql_table_name((*event)->name);

		if (strcmp(name, table) == 0) {
			*ret_shape = event_shape(*event);
			return true;
		}
	}
	if (strcmp(table, finding_type.name) == 0) {
		*ret_shape = (struct shape){.count = 2, .types = {&moment_type, &finding_type}};
		return true;
	}
	registry_each(record_type, type)
		if (strcmp((*type)->name, table) == 0) {
			*ret_shape = SHAPE_OF(*type);
			return true;
		}
	return false;
}

/* Memory for the parts of a row. */
struct row {
	struct shape shape;
	void *parts[RECORD_PARTS_MAX];
};

static void row_init(struct row *row, const struct shape *shape)
{
	*row = (struct row){.shape = *shape};
	for (unsigned i = 0; i < shape->count; i++)
		row->parts[i] = xzalloc(shape->types[i]->size);
}

static void row_done(struct row *row)
{
	for (unsigned i = 0; i < row->shape.count; i++)
		free(row->parts[i]);
}

static int open_rows(const struct export_request *request, const char *table, const struct shape *shape,
		     struct rows **ret_rows, struct why *why)
{
	return rows_open(request->recording,
			 &(struct rows_request){.name = table,
						.shape = shape,
						.from_ns = request->range.from_ns,
						.to_ns = request->range.to_ns == UINT64_MAX ? 0 : request->range.to_ns},
			 ret_rows, why);
}

typedef int row_fn(void *context, const struct record *record, const struct state_span *span);

/* Calls fn for each row of the table in the range until it returns a negative errno. */
static int each_row(const struct export_request *request, const char *table, row_fn *fn, void *context, struct why *why)
{
	_cleanup_(rows_closep) struct rows *rows = NULL;
	struct shape shape;
	struct row row;
	int r;

	if (!find_shape(table, &shape))
		return why_set(why, -ENOENT, "unknown table %s", table);
	row_init(&row, &shape);
	r = open_rows(request, table, &shape, &rows, why);
	while (r == 0 && (r = rows_next(rows, row.parts, why)) > 0) {
		struct record record = {};

		memcpy(record.parts, row.parts, sizeof(row.parts));
		r = fn(context, &record, recording_has_states(request->recording, table) ? rows_span(rows) : NULL);
		rows_free_parts(&shape, row.parts);
	}
	row_done(&row);
	return r;
}

/* --- events in order --- */

struct stream {
	const struct event *event;
	struct row row;
	struct rows *rows;
	bool has_row;
};

static uint64_t time_of(const struct stream *stream)
{
	return ((const struct event_head *)stream->row.parts[EVENT_PART_HEAD])->time_ns;
}

static int advance(struct stream *stream, struct why *why)
{
	int r;

	if (stream->has_row)
		rows_free_parts(&stream->row.shape, stream->row.parts);
	r = rows_next(stream->rows, stream->row.parts, why);
	stream->has_row = r > 0;
	return min_of(r, 0);
}

struct streams {
	VEC(struct stream) items;
};

static int open_streams(const struct export_request *request, struct streams *streams, struct why *why)
{
	int r = 0;

	registry_each(event, event) {
		struct shape shape = event_shape(*event);
		struct stream *stream;

		if (r < 0 || !recording_has(request->recording, (*event)->name) ||
		    (request->table && strcmp(request->table, (*event)->name) != 0))
			continue;
		stream = vec_add(&streams->items);
		stream->event = *event;
		row_init(&stream->row, &shape);
		r = open_rows(request, (*event)->name, &shape, &stream->rows, why);
		if (r == 0)
			r = advance(stream, why);
	}
	return r;
}

static struct stream *next_stream(const struct streams *streams)
{
	struct stream *next = NULL;

	vec_each(&streams->items, stream)
		if (stream->has_row && (!next || time_of(stream) < time_of(next)))
			next = stream;
	return next;
}

int export_each_event(const struct export_request *request, export_event_fn *fn, void *context, struct why *why)
{
	struct streams streams = {};
	struct stream *next;
	int r = open_streams(request, &streams, why);

	while (r == 0 && (next = next_stream(&streams))) {
		struct record record = {};

		memcpy(record.parts, next->row.parts, sizeof(next->row.parts));
		r = fn(context, next->event->name, &next->row.shape, &record);
		if (r == 0)
			r = advance(next, why);
	}
	vec_each(&streams.items, stream) {
		if (stream->has_row)
			rows_free_parts(&stream->row.shape, stream->row.parts);
		rows_close(stream->rows);
		row_done(&stream->row);
	}
	vec_done(&streams.items);
	return r;
}

/* --- JSON lines --- */

struct lines {
	struct out *out;
	const char *table;
	struct shape shape;
};

static int write_json(void *context, const struct record *record, const struct state_span *span)
{
	struct lines *lines = context;
	struct buf *line = &lines->out->pending;
	struct field_ref at = {};

	buf_add_format(line, "{\"table\":\"%s\"", lines->table);
	if (span)
		buf_add_format(line, ",\"first\":%" PRId64 ",\"last\":%" PRId64 ",\"pos\":%" PRId64, span->first,
			       span->last, span->pos);
	while (shape_next(&lines->shape, &at)) {
		struct value value = record_get(record, at);

		buf_add_format(line, ",\"%s\":", at.field->name);
		json_add_value(line, at.field, &value);
	}
	buf_add_char(line, '}');
	out_end_line(lines->out);
	return lines->out->error;
}

int export_jsonl(const struct export_request *request, struct out *out, struct why *why)
{
	struct lines lines = {.out = out};
	int r = 0;

	for (size_t i = 0; r == 0 && i < recording_table_count(request->recording); i++) {
		lines.table = recording_table(request->recording, i)->name;
		/* Tables of a later version are skipped: their fields are unknown. */
		if ((request->table && strcmp(request->table, lines.table) != 0) ||
		    !find_shape(lines.table, &lines.shape))
			continue;
		r = each_row(request, lines.table, write_json, &lines, why);
	}
	return r;
}

/* --- CSV --- */

static int write_csv(void *context, const struct record *record, const struct state_span *span)
{
	struct lines *lines = context;
	struct buf *line = &lines->out->pending;
	struct field_ref at = {};
	bool comma = span != NULL;

	if (span)
		buf_add_format(line, "%" PRId64 ",%" PRId64, span->first, span->last);
	while (shape_next(&lines->shape, &at)) {
		_cleanup_buf_ struct buf cell = BUF_INIT(1 << 20);
		struct value value = record_get(record, at);

		if (comma)
			buf_add_char(line, ',');
		comma = true;
		if (value.class == VALUE_UNKNOWN)
			continue;
		if (value.class == VALUE_TEXT) {
			text_add_csv(line, value.text, value.len);
			continue;
		}
		json_add_value(&cell, at.field, &value);
		/* Strips the quotes of a JSON string: names, addresses and handles need no escapes. */
		if (cell.len >= 2 && cell.data[0] == '"')
			text_add_csv(line, cell.data + 1, cell.len - 2);
		else
			text_add_csv(line, buf_text(&cell), cell.len);
	}
	buf_add_char(line, '\r');
	out_end_line(lines->out);
	return lines->out->error;
}

int export_csv(const struct export_request *request, struct out *out, struct why *why)
{
	struct lines lines = {.out = out, .table = request->table};
	struct field_ref at = {};
	bool comma;

	if (!request->table || !recording_has(request->recording, request->table) ||
	    !find_shape(request->table, &lines.shape))
		return why_set(why, -EINVAL,
			       "--format csv needs --table TABLE (nest sql FILE --schema lists the tables)");
	comma = recording_has_states(request->recording, request->table);
	buf_add_text(&out->pending, comma ? "first,last" : "");
	while (shape_next(&lines.shape, &at)) {
		buf_add_format(&out->pending, "%s%s", comma ? "," : "", at.field->name);
		comma = true;
	}
	buf_add_char(&out->pending, '\r');
	out_end_line(out);
	return each_row(request, request->table, write_csv, &lines, why);
}
