/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "record/value.h"

bool shape_next(const struct shape *shape, struct field_ref *at)
{
	const struct field *next = at->field ? at->field + 1 : shape->count ? shape->types[0]->fields : NULL;

	while (at->part < shape->count) {
		const struct record_type *type = shape->types[at->part];

		if (next < type->fields + type->field_count) {
			at->field = next;
			return true;
		}
		if (++at->part < shape->count)
			next = shape->types[at->part]->fields;
	}
	return false;
}

/* A column heading is also a valid name: without unit, in capitals. */
static bool is_called(const struct field *field, const char *name)
{
	size_t n = strlen(name);

	if (field->heading && strcasecmp(field->heading, name) == 0)
		return true;
	if (n == 0 || strncasecmp(field->name, name, n) != 0)
		return false;
	return !field->name[n] || strcmp(field->name + n, "_ns") == 0 || strcmp(field->name + n, "_bytes") == 0;
}

static const char *alias_find(const struct field_alias *alias, const char *name)
{
	for (; alias && alias->name; alias++)
		if (strcasecmp(alias->name, name) == 0)
			return alias->field;
	return NULL;
}

int shape_find(const struct shape *shape, const char *name, struct field_ref *ret_ref)
{
	struct field_ref at = {}, loose = {};
	const char *meant;

	/* The usual case alone first: rules look up thousands of names. */
	while (shape_next(shape, &at))
		if (at.field->name[0] == name[0] && strcmp(at.field->name, name) == 0) {
			*ret_ref = at;
			return 0;
		}
	meant = alias_find(shape->aliases, name);
	for (at = (struct field_ref){}; shape_next(shape, &at);)
		if (meant ? strcmp(at.field->name, meant) == 0 : !loose.field && is_called(at.field, name))
			loose = at;
	if (!loose.field)
		return -ENOENT;
	*ret_ref = loose;
	return 0;
}

static struct value from_unsigned(const struct field *field, uint64_t value, uint64_t all_bits)
{
	if (value == all_bits || (value == 0 && field->zero_is_unknown))
		return (struct value){.class = VALUE_UNKNOWN};
	return (struct value){.class = VALUE_UINT, .uint = value};
}

static struct value from_signed(const struct field *field, int64_t value, int64_t smallest)
{
	if (value == smallest || (value == 0 && field->zero_is_unknown))
		return (struct value){.class = VALUE_UNKNOWN};
	return (struct value){.class = VALUE_INT, .sint = value};
}

/* Longer than any text of a record. */
#define TEXT_MAX ((size_t)1 << 30)

static struct value from_text(const char *text, size_t max)
{
	size_t len = text ? strnlen(text, max) : 0;

	if (len == 0)
		return (struct value){.class = VALUE_UNKNOWN};
	return (struct value){.class = VALUE_TEXT, .text = text, .len = len};
}

/* Records may come from a ring buffer or a file: alignment is not guaranteed. */
#define LOAD(type)                                                                                                     \
	({                                                                                                             \
		type loaded_;                                                                                          \
		memcpy(&loaded_, at, sizeof(loaded_));                                                                 \
		loaded_;                                                                                               \
	})

struct value value_get(const struct field *field, const void *data)
{
	const char *at = (const char *)data + field->offset;

	switch (field->store) {
	case STORE_U8:
		return from_unsigned(field, LOAD(uint8_t), UINT8_MAX);
	case STORE_U16:
		/* 65535 is a valid port, not unknown. */
		return from_unsigned(field, LOAD(uint16_t), field->zero_is_unknown ? UINT64_MAX : UINT16_MAX);
	case STORE_U32:
		return from_unsigned(field, LOAD(uint32_t), UINT32_MAX);
	case STORE_U64:
		return from_unsigned(field, LOAD(uint64_t), UINT64_MAX);
	case STORE_I8:
		return from_signed(field, LOAD(int8_t), INT8_MIN);
	case STORE_I16:
		return from_signed(field, LOAD(int16_t), INT16_MIN);
	case STORE_I32:
		return from_signed(field, LOAD(int32_t), INT32_MIN);
	case STORE_I64:
		return from_signed(field, LOAD(int64_t), INT64_MIN);
	case STORE_BOOL:
		return (struct value){.class = VALUE_UINT, .uint = LOAD(uint8_t) != 0};
	case STORE_DOUBLE: {
		double real = LOAD(double);

		if (isnan(real) || (real == 0 && field->zero_is_unknown))
			return (struct value){.class = VALUE_UNKNOWN};
		return (struct value){.class = VALUE_REAL, .real = real};
	}
	case STORE_CHARS:
		return from_text(at, field->size);
	case STORE_STRING:
		return from_text(LOAD(const char *), TEXT_MAX);
	case STORE_ADDR: {
		const struct addr *addr = (const struct addr *)at;

		if (addr->family == ADDR_UNKNOWN)
			return (struct value){.class = VALUE_UNKNOWN};
		return (struct value){.class = VALUE_ADDR, .addr = addr};
	}
	case STORE_ENDPOINT: {
		const struct endpoint *endpoint = (const struct endpoint *)at;

		if (endpoint->addr.family == ADDR_UNKNOWN && endpoint->port == 0)
			return (struct value){.class = VALUE_UNKNOWN};
		return (struct value){.class = VALUE_ENDPOINT, .endpoint = endpoint};
	}
	case STORE_STACK: {
		const struct stack *stack = (const struct stack *)at;

		if (!stack->frames)
			return (struct value){.class = VALUE_UNKNOWN};
		return (struct value){.class = VALUE_STACK, .stack = stack};
	}
	case STORE_LIST: {
		const struct list *list = (const struct list *)at;

		if (!list->items)
			return (struct value){.class = VALUE_UNKNOWN};
		return (struct value){.class = VALUE_LIST, .list = list};
	}
	case STORE_NONE:
		break;
	}
	return (struct value){.class = VALUE_UNKNOWN};
}

void value_set_unknown(const struct field *field, void *data)
{
	char *at = (char *)data + field->offset;
	double nan_value = NAN;
	int64_t smallest;

	switch (field->store) {
	case STORE_U8:
	case STORE_U16:
	case STORE_U32:
	case STORE_U64:
		memset(at, field->zero_is_unknown ? 0 : 0xff, field->size);
		return;
	case STORE_I8:
	case STORE_I16:
	case STORE_I32:
	case STORE_I64:
		/* Only the sign bit is set, in either byte order. */
		smallest = INT64_MIN >> (64 - 8 * field->size);
		if (field->size == 1)
			*(int8_t *)at = (int8_t)smallest;
		else if (field->size == 2)
			memcpy(at, &(int16_t){(int16_t)smallest}, 2);
		else if (field->size == 4)
			memcpy(at, &(int32_t){(int32_t)smallest}, 4);
		else
			memcpy(at, &smallest, 8);
		return;
	case STORE_DOUBLE:
		memcpy(at, &nan_value, sizeof(nan_value));
		return;
	default:
		memset(at, 0, field->size);
	}
}

double value_number(const struct value *value)
{
	switch (value->class) {
	case VALUE_UINT:
		return (double)value->uint;
	case VALUE_INT:
		return (double)value->sint;
	case VALUE_REAL:
		return value->real;
	default:
		return NAN;
	}
}

void value_free_stack(struct stack *stack)
{
	for (uint32_t i = 0; i < stack->count; i++)
		free((char *)stack->frames[i]);
	free((void *)stack->frames);
	*stack = (struct stack){};
}
