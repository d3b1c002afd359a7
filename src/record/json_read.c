/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <jansson.h>

#include "base/alloc.h"
#include "base/parse.h"
#include "base/text.h"
#include "record/json_read.h"
#include "record/value.h"

static int store_integer(const struct field *field, void *at, __int128 value)
{
	bool is_signed = field->store >= STORE_I8 && field->store <= STORE_I64;
	unsigned bits = field->size * 8;
	__int128 least = is_signed ? -((__int128)1 << (bits - 1)) : 0;
	__int128 most = ((__int128)1 << (bits - is_signed)) - 1;
	uint64_t low = (uint64_t)value;

	if (value < least || value > most)
		return -ERANGE;
	switch (field->size) {
	case 1:
		memcpy(at, &(uint8_t){(uint8_t)low}, 1);
		return 0;
	case 2:
		memcpy(at, &(uint16_t){(uint16_t)low}, 2);
		return 0;
	case 4:
		memcpy(at, &(uint32_t){(uint32_t)low}, 4);
		return 0;
	default:
		memcpy(at, &low, 8);
		return 0;
	}
}

static int store_text(const struct field *field, void *at, const char *text, size_t len)
{
	char *copy;

	if (memchr(text, '\0', len))
		return -EINVAL;
	if (field->store == STORE_STRING) {
		copy = xstrndup(text, len);
		memcpy(at, &copy, sizeof(copy));
		return 0;
	}
	if (len > field->size)
		return -ERANGE;
	memset(at, 0, field->size);
	memcpy(at, text, len);
	return 0;
}

/* Names joined by |, as format_add_flags writes them. */
static int flags_from_text(const struct field *field, const char *text, uint64_t *ret_bits)
{
	uint64_t all = 0;

	for (;;) {
		size_t n = strcspn(text, "|");
		_cleanup_free_ char *name = xstrndup(text, n);
		uint64_t bits;

		if (enum_value_find(field->names, name, &bits) < 0 && parse_u64(name, 0, UINT64_MAX, &bits) < 0)
			return -EINVAL;
		all |= bits;
		if (!text[n])
			break;
		text += n + 1;
	}
	*ret_bits = all;
	return 0;
}

static int from_string(const struct field *field, void *at, const char *text, size_t len)
{
	struct endpoint endpoint;
	struct addr addr;
	uint64_t value;
	int r = -EINVAL;

	switch (field->kind) {
	case KIND_TEXT:
		return store_text(field, at, text, len);
	case KIND_ENUM:
		if (enum_value_find(field->names, text, &value) < 0 && parse_u64(text, 0, UINT64_MAX, &value) < 0)
			return -EINVAL;
		return store_integer(field, at, value);
	case KIND_FLAGS:
		r = flags_from_text(field, text, &value);
		return r < 0 ? r : store_integer(field, at, value);
	case KIND_HEX:
		r = parse_u64(text, 0, UINT64_MAX, &value);
		return r < 0 ? r : store_integer(field, at, value);
	case KIND_ADDR:
		r = addr_parse(text, &addr);
		if (r == 0)
			memcpy(at, &addr, sizeof(addr));
		return r;
	case KIND_ENDPOINT:
		r = endpoint_parse(text, &endpoint);
		if (r == 0)
			memcpy(at, &endpoint, sizeof(endpoint));
		return r;
	default:
		return -EINVAL;
	}
}

static int from_json(const struct field *field, void *data, const json_t *json)
{
	char *at = (char *)data + field->offset;
	double real;

	switch (json_typeof(json)) {
	case JSON_NULL:
		return 0;
	case JSON_STRING:
		return from_string(field, at, json_string_value(json), json_string_length(json));
	case JSON_TRUE:
	case JSON_FALSE:
		return field->kind == KIND_BOOL ? store_integer(field, at, json_is_true(json)) : -EINVAL;
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
		return store_integer(field, at, json_integer_value(json));
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
			return why_set(why, -ENOTSUP, "records of type %s cannot be read back", type->name);
		field_set_unknown(&type->fields[i], data);
	}
	root = json_loadb(line, len, JSON_REJECT_DUPLICATES, &error);
	if (!root) {
		/* The reader quotes its input, whatever is in it. */
		text_add_terminal(&shown, error.text, strlen(error.text));
		return why_set(why, -EINVAL, "not JSON: %s (byte %d)", buf_text(&shown), error.position);
	}
	if (!json_is_object(root))
		r = why_set(why, -EINVAL, "not a JSON object");
	for (uint32_t i = 0; r == 0 && i < type->field_count; i++) {
		const json_t *member = json_object_get(root, type->fields[i].name);

		if (member && from_json(&type->fields[i], data, member) < 0)
			r = why_set(why, -EINVAL, "the value of \"%s\" is not one of its kind", type->fields[i].name);
	}
	json_decref(root);
	if (r < 0)
		record_free_strings(type, data);
	return r;
}

void record_free_strings(const struct record_type *type, void *data)
{
	for (uint32_t i = 0; i < type->field_count; i++) {
		char *at = (char *)data + type->fields[i].offset;
		char *string;

		if (type->fields[i].store != STORE_STRING)
			continue;
		memcpy(&string, at, sizeof(string));
		free(string);
		memset(at, 0, type->fields[i].size);
	}
}
