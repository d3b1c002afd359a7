/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <jansson.h>

#include "base/text.h"
#include "record/field_set.h"
#include "record/json_read.h"

static int from_json(const struct field *field, void *data, const json_t *json)
{
	char *at = (char *)data + field->offset;
	double real;

	switch (json_typeof(json)) {
	case JSON_NULL:
		return 0;
	case JSON_STRING:
		return field_set_text(field, data, json_string_value(json), json_string_length(json));
	case JSON_TRUE:
	case JSON_FALSE:
		return field->kind == KIND_BOOL ? field_set_integer(field, data, json_is_true(json)) : -EINVAL;
	case JSON_INTEGER:
	case JSON_REAL:
		if (field->kind == KIND_RATIO) {
			real = json_number_value(json);
			memcpy(at, &real, sizeof(real));
			return 0;
		}
		if (!json_is_integer(json) || field->store == STORE_BOOL || field->store > STORE_I64 ||
		    field->kind == KIND_ENUM || field->kind == KIND_FLAGS || field->kind == KIND_HEX)
			return -EINVAL;
		return field_set_integer(field, data, json_integer_value(json));
	default:
		return -EINVAL;
	}
}

int record_read_json_line(const struct record_type *type, const char *line, size_t len, void *data, struct why *why)
{
	_cleanup_buf_ struct buf shown = BUF_INIT(1024);
	json_error_t error;
	json_t *root;
	int r = 0;

	for (uint32_t i = 0; i < type->field_count; i++) {
		if (type->fields[i].store == STORE_LIST || type->fields[i].store == STORE_STACK)
			return why_set(why, -ENOTSUP, "cannot read records of type %s from JSON", type->name);
		value_set_unknown(&type->fields[i], data);
	}
	root = json_loadb(line, len, JSON_REJECT_DUPLICATES, &error);
	if (!root) {
		/* The parser quotes untrusted input. */
		text_add_terminal(&shown, error.text, strlen(error.text));
		return why_set(why, -EINVAL, "not JSON: %s (byte %d)", buf_text(&shown), error.position);
	}
	if (!json_is_object(root))
		r = why_set(why, -EINVAL, "not a JSON object");
	for (uint32_t i = 0; r == 0 && i < type->field_count; i++) {
		const json_t *member = json_object_get(root, type->fields[i].name);

		if (member && from_json(&type->fields[i], data, member) < 0)
			r = why_set(why, -EINVAL, "invalid value of \"%s\"", type->fields[i].name);
	}
	json_decref(root);
	if (r < 0)
		record_free_strings(type, data);
	return r;
}
