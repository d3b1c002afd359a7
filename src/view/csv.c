/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CSV (RFC 4180): a header of field names, raw numbers, CRLF. Unknown is an empty cell. */
#include "base/text.h"
#include "view/json.h"
#include "view/view.h"

static void end_row(struct view *view)
{
	buf_add_char(&view->out->pending, '\r');
	out_end_line(view->out);
}

static void begin(struct view *view)
{
	struct buf *out = &view->out->pending;

	for (size_t i = 0; i < view->columns.count; i++) {
		const char *name = view->columns.items[i].ref.field->name;

		if (i)
			buf_add_char(out, ',');
		text_add_csv(out, name, strlen(name));
	}
	end_row(view);
	view->settled = true;
}

static void add_cell(struct view *view, const struct field *field, const struct value *value)
{
	struct buf *out = &view->out->pending, *text = &view->cell;

	if (value->class == VALUE_UNKNOWN)
		return;
	if (value->class == VALUE_TEXT) {
		text_add_csv(out, value->text, value->len);
		return;
	}
	buf_clear(text);
	json_add_value(text, field, value);
	/* Strip the quotes of JSON strings; text_add_csv adds quotes where a cell needs them. */
	if (text->len >= 2 && text->data[0] == '"')
		text_add_csv(out, text->data + 1, text->len - 2);
	else if (value->class == VALUE_STACK || value->class == VALUE_LIST)
		text_add_csv(out, text->data, text->len);
	else
		buf_add(out, text->data, text->len);
}

static void write_record(struct view *view, const struct record *record)
{
	struct buf *out = &view->out->pending;

	for (size_t i = 0; i < view->columns.count; i++) {
		struct field_ref column = view->columns.items[i].ref;
		struct value value = record_get(record, column);

		if (i)
			buf_add_char(out, ',');
		add_cell(view, column.field, &value);
	}
	end_row(view);
}

static const struct view_class csv_view = {
	.name = "csv",
	.help = "comma-separated values (RFC 4180), raw numbers in base units",
	.all_fields = true,
	.begin = begin,
	.record = write_record,
};
VIEW_CLASS(csv_view);
