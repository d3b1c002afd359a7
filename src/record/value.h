/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values of fields, and records of several parts. */
#pragma once

#include "record/field.h"

enum value_class {
	VALUE_UNKNOWN,
	VALUE_UINT,
	VALUE_INT,
	VALUE_REAL,
	VALUE_TEXT,
	VALUE_ADDR,
	VALUE_ENDPOINT,
	VALUE_STACK,
	VALUE_LIST
};

struct value {
	enum value_class class;
	union {
		uint64_t uint;
		int64_t sint;
		double real;
		struct {
			const char *text; /* not necessarily terminated */
			size_t len;
		};
		const struct addr *addr;
		const struct endpoint *endpoint;
		const struct stack *stack;
		const struct list *list;
	};
};

/*
 * A record has parts, each with its own type: an event's common header, its payload, and what a collector appended (a
 * stack, an owner). The shape lists the types, the record points at the data; the fields of an absent part (NULL) are
 * unknown.
 */
#define RECORD_PARTS_MAX 16

/* Another name of a field: a column heading. */
struct field_alias {
	const char *name;
	const char *field;
};

struct shape {
	unsigned count;
	const struct record_type *types[RECORD_PARTS_MAX];
	const struct field_alias *aliases; /* terminated by one without a name; NULL: none */
};

struct record {
	const void *parts[RECORD_PARTS_MAX];
};

/* Position of a field in a record of some shape. */
struct field_ref {
	const struct field *field;
	unsigned part;
};

#define SHAPE_OF(type)                                                                                                 \
	(struct shape)                                                                                                 \
	{                                                                                                              \
		.count = 1, .types = {(type) }                                                                         \
	}

#define RECORD_OF(data)                                                                                                \
	(struct record)                                                                                                \
	{                                                                                                              \
		.parts = {(data) }                                                                                     \
	}

/* Exact name; or, ignoring case, without its unit ("LAT" for "lat_ns"), its heading or an alias; -ENOENT. */
int shape_find(const struct shape *shape, const char *name, struct field_ref *ret_ref) _must_check_;
/* Iterates over all fields: struct field_ref at = {}; while (shape_next(shape, &at)) ... */
bool shape_next(const struct shape *shape, struct field_ref *at);

struct value value_get(const struct field *field, const void *data);

static inline struct value record_get(const struct record *record, struct field_ref ref)
{
	const void *data = record->parts[ref.part];

	return data ? value_get(ref.field, data) : (struct value){.class = VALUE_UNKNOWN};
}

/* As a number; NAN of what is none, or unknown. */
double value_number(const struct value *value);

/* Frees frames owned by the stack, each allocated separately. */
void value_free_stack(struct stack *stack);

/* Sets the field to its unknown value. */
void value_set_unknown(const struct field *field, void *data);
