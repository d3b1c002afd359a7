/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON lines. Every piped event takes this path, so keys are prepared once and numbers are written without printf;
 * `make bench` compares its rate with a general JSON library's.
 */
#include <inttypes.h>

#include "base/text.h"
#include "view/format.h"
#include "view/json.h"
#include "view/view.h"

static void add_text(struct buf *out, const char *text, size_t len)
{
	buf_add_char(out, '"');
	text_add_json(out, text, len);
	buf_add_char(out, '"');
}

static void add_uint(struct buf *out, uint64_t value)
{
	if (buf_grow(out, 20)) {
		out->len = (size_t)(format_put_uint(out->data + out->len, value) - out->data);
		out->data[out->len] = '\0';
	}
}

static void add_unsigned(struct buf *out, const struct field *field, uint64_t value)
{
	const char *name;

	switch (field->kind) {
	case KIND_BOOL:
		buf_add_text(out, value ? "true" : "false");
		return;
	case KIND_ENUM:
		name = enum_name_find(field->names, value);
		if (name) {
			add_text(out, name, strlen(name));
			return;
		}
		/* A number without a name stays text, so that the field has one type. */
		buf_add_char(out, '"');
		add_uint(out, value);
		buf_add_char(out, '"');
		return;
	case KIND_FLAGS:
		buf_add_char(out, '"');
		format_add_flags(out, field, value);
		buf_add_char(out, '"');
		return;
	case KIND_HEX:
		buf_add_format(out, "\"0x%" PRIx64 "\"", value);
		return;
	default:
		add_uint(out, value);
	}
}

static void add_list(struct buf *out, const struct field *field, const struct list *list)
{
	const struct record_type *element = field->element;
	const char *item = list->items;

	if (field->single && list->count == 1) {
		json_add_object(out, element, item);
		return;
	}
	buf_add_char(out, '[');
	for (uint32_t i = 0; i < list->count; i++, item += element->size) {
		if (i)
			buf_add_char(out, ',');
		if (element->bare) {
			struct value value = value_get(&element->fields[0], item);

			json_add_value(out, &element->fields[0], &value);
		} else {
			json_add_object(out, element, item);
		}
	}
	buf_add_char(out, ']');
}

static void add_stack(struct buf *out, const struct stack *stack)
{
	buf_add_char(out, '[');
	for (uint32_t i = 0; i < stack->count; i++) {
		if (i)
			buf_add_char(out, ',');
		add_text(out, stack->frames[i], strlen(stack->frames[i]));
	}
	buf_add_char(out, ']');
}

void json_add_text(struct buf *out, const char *text)
{
	if (!text) {
		buf_add_text(out, "null");
		return;
	}
	buf_add_char(out, '"');
	text_add_json(out, text, strlen(text));
	buf_add_char(out, '"');
}

void json_add_value(struct buf *out, const struct field *field, const struct value *value)
{
	char text[ADDR_TEXT_MAX];

	switch (value->class) {
	case VALUE_UNKNOWN:
		buf_add(out, "null", 4);
		return;
	case VALUE_UINT:
		add_unsigned(out, field, value->uint);
		return;
	case VALUE_INT:
		buf_add(out, text, (size_t)(format_put_int(text, value->sint) - text));
		return;
	case VALUE_REAL:
		if (isfinite(value->real))
			buf_add(out, text, (size_t)(format_put_real(text, value->real) - text));
		else
			buf_add(out, "null", 4);
		return;
	case VALUE_TEXT:
		add_text(out, value->text, value->len);
		return;
	case VALUE_ADDR:
		buf_add_char(out, '"');
		buf_add(out, text, addr_format(value->addr, text));
		buf_add_char(out, '"');
		return;
	case VALUE_ENDPOINT:
		buf_add_char(out, '"');
		addr_format_endpoint(value->endpoint, out);
		buf_add_char(out, '"');
		return;
	case VALUE_STACK:
		add_stack(out, value->stack);
		return;
	case VALUE_LIST:
		add_list(out, field, value->list);
		return;
	}
}

/* Names of declared fields need no escape; those of a recording's columns may. */
static void add_key(struct buf *out, const struct field *field)
{
	add_text(out, field->name, strlen(field->name));
	buf_add_char(out, ':');
}

void json_add_object(struct buf *out, const struct record_type *type, const void *data)
{
	buf_add_char(out, '{');
	for (uint32_t i = 0; i < type->field_count; i++) {
		const struct field *field = &type->fields[i];
		struct value value = value_get(field, data);

		buf_add_text(out, i ? "," : "");
		add_key(out, field);
		json_add_value(out, field, &value);
	}
	buf_add_char(out, '}');
}

void json_add_record(struct buf *out, const struct shape *shape, const struct record *record)
{
	struct field_ref at = {};
	char before = '{';

	for (; shape_next(shape, &at); before = ',') {
		struct value value = record_get(record, at);

		buf_add_char(out, before);
		add_key(out, at.field);
		json_add_value(out, at.field, &value);
	}
	buf_add_text(out, before == '{' ? "{}" : "}");
}

/* --- the format --- */

struct key {
	char *text; /* {"name": or ,"name": */
	size_t len;
};

struct state {
	VEC(struct key) keys;
};

static void begin(struct view *view)
{
	struct state *state = view->state;

	vec_each(&view->columns, column) {
		_cleanup_buf_ struct buf text = BUF_INIT(1 << 20);

		buf_add_char(&text, state->keys.count ? ',' : '{');
		add_key(&text, column->ref.field);
		vec_push(&state->keys, (struct key){xstrdup(buf_text(&text)), text.len});
	}
	view->settled = true;
}

static void write_record(struct view *view, const struct record *record)
{
	const struct state *state = view->state;
	struct buf *out = &view->out->pending;

	for (size_t i = 0; i < view->columns.count; i++) {
		struct field_ref column = view->columns.items[i].ref;
		struct value value = record_get(record, column);

		buf_add(out, state->keys.items[i].text, state->keys.items[i].len);
		json_add_value(out, column.field, &value);
	}
	buf_add_text(out, view->columns.count ? "}" : "{}");
	out_end_line(view->out);
}

static void end(struct view *view)
{
	struct state *state = view->state;

	vec_each(&state->keys, key)
		free(key->text);
	vec_done(&state->keys);
}

static const struct view_class json_view = {
	.name = "json",
	.help = "JSON lines, raw numbers in base units",
	.all_fields = true,
	.state_size = sizeof(struct state),
	.begin = begin,
	.record = write_record,
	.end = end,
};
VIEW_CLASS(json_view);
