/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/json_schema.h"

#include "base/text.h"

static void add_text(struct buf *out, const char *text)
{
	buf_add_char(out, '"');
	text_add_json(out, text, strlen(text));
	buf_add_char(out, '"');
}

/* As json_add_value writes each kind. */
static const char *const kind_types[] = {
	[KIND_COUNT] = "\"type\":\"integer\"", [KIND_ID] = "\"type\":\"integer\"",
	[KIND_HEX] = "\"type\":\"string\"",    [KIND_BOOL] = "\"type\":\"boolean\"",
	[KIND_BYTES] = "\"type\":\"integer\"", [KIND_DURATION] = "\"type\":\"integer\"",
	[KIND_TIME] = "\"type\":\"integer\"",  [KIND_RATIO] = "\"type\":\"number\"",
	[KIND_ENUM] = "\"type\":\"string\"",   [KIND_FLAGS] = "\"type\":\"string\"",
	[KIND_ADDR] = "\"type\":\"string\"",   [KIND_ENDPOINT] = "\"type\":\"string\"",
	[KIND_TEXT] = "\"type\":\"string\"",   [KIND_STACK] = "\"type\":\"array\",\"items\":{\"type\":\"string\"}",
};

static void add_value(struct buf *out, const struct field *field);

static void add_list(struct buf *out, const struct field *field)
{
	const struct record_type *element = field->element;
	struct shape shape = SHAPE_OF(element);

	buf_add_text(out, field->single ? "\"anyOf\":[" : "\"type\":\"array\",\"items\":");
	if (element->bare) {
		buf_add_char(out, '{');
		add_value(out, &element->fields[0]);
		buf_add_char(out, '}');
	} else {
		json_schema_add(out, &shape, true);
	}
	/* None of at most one. */
	if (field->single)
		buf_add_text(out, ",{\"type\":\"array\",\"maxItems\":0,\"items\":{}}]");
}

static void add_value(struct buf *out, const struct field *field)
{
	if (field->kind == KIND_LIST)
		add_list(out, field);
	else
		buf_add_text(out, kind_types[field->kind]);
	/* Unknown is null. */
	buf_add_text(out, ",\"nullable\":true");
}

static void add_property(struct buf *out, const struct field *field)
{
	add_text(out, field->name);
	buf_add_text(out, ":{");
	add_value(out, field);
	if (field->help) {
		buf_add_text(out, ",\"description\":");
		add_text(out, field->help);
	}
	if (field->unit) {
		buf_add_text(out, ",\"x-unit\":");
		add_text(out, field->unit);
	}
	buf_add_char(out, '}');
}

static void add_required(struct buf *out, const struct shape *shape)
{
	struct field_ref at = {};
	bool any = false;

	buf_add_text(out, ",\"required\":[");
	for (; shape_next(shape, &at); any = true) {
		buf_add_text(out, any ? "," : "");
		add_text(out, at.field->name);
	}
	buf_add_char(out, ']');
}

void json_schema_add(struct buf *out, const struct shape *shape, bool whole)
{
	struct field_ref at = {};
	bool any = false;

	/* Fields that are known at run time only. */
	if (!shape_next(shape, &at)) {
		buf_add_text(out, "{\"type\":\"object\"}");
		return;
	}
	at = (struct field_ref){};
	buf_add_text(out, "{\"type\":\"object\",\"additionalProperties\":false");
	if (whole)
		add_required(out, shape);
	buf_add_text(out, ",\"properties\":{");
	for (; shape_next(shape, &at); any = true) {
		buf_add_text(out, any ? "," : "");
		add_property(out, at.field);
	}
	buf_add_text(out, "}}");
}
