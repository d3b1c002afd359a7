/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "base/alloc.h"
#include "base/parse.h"
#include "record/field_set.h"

int field_set_integer(const struct field *field, void *data, __int128 value)
{
	char *at = (char *)data + field->offset;
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

static int set_plain_text(const struct field *field, void *data, const char *text, size_t len)
{
	char *at = (char *)data + field->offset;
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

int field_set_text(const struct field *field, void *data, const char *text, size_t len)
{
	char *at = (char *)data + field->offset;
	struct endpoint endpoint;
	struct addr addr;
	uint64_t value;
	int r = -EINVAL;

	switch (field->kind) {
	case KIND_TEXT:
		return set_plain_text(field, data, text, len);
	case KIND_ENUM:
		if (enum_value_find(field->names, text, &value) < 0 && parse_u64(text, 0, UINT64_MAX, &value) < 0)
			return -EINVAL;
		return field_set_integer(field, data, value);
	case KIND_FLAGS:
		r = flags_from_text(field, text, &value);
		return r < 0 ? r : field_set_integer(field, data, value);
	case KIND_HEX:
		r = parse_u64(text, 0, UINT64_MAX, &value);
		return r < 0 ? r : field_set_integer(field, data, value);
	case KIND_ADDR:
		r = addr_parse(text, &addr);
		if (r == 0)
			memcpy(at, &addr, sizeof(addr));
		return r;
	case KIND_ENDPOINT:
		r = addr_parse_endpoint(text, &endpoint);
		if (r == 0)
			memcpy(at, &endpoint, sizeof(endpoint));
		return r;
	default:
		return -EINVAL;
	}
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
