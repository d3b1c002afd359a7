/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One field's value taken out of a record, and records made of several parts. */
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
 * A record is made of parts, each of a type of its own: an event's common header, its payload, and whatever a collector
 * appended (a stack, an owner). The shape names the types, the record points at the data; a part may be absent (NULL),
 * and then its fields are unknown.
 */
#define RECORD_PARTS_MAX 8

/* Another name for a field, as it stands above a column. */
struct field_alias {
	const char *name;
	const char *field;
};

struct shape {
	unsigned count;
	const struct record_type *types[RECORD_PARTS_MAX];
	const struct field_alias *aliases; /* the last one without a name; NULL: none */
};

struct record {
	const void *parts[RECORD_PARTS_MAX];
};

/* Where a field is in a record of some shape. */
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

/* Exact name; or, in any case of letters, without its unit ("LAT" for "lat_ns"), its heading or an alias; -ENOENT. */
int shape_find(const struct shape *shape, const char *name, struct field_ref *ret_ref) _must_check_;
/* Walks all fields: struct field_ref at = {}; while (shape_next(shape, &at)) ... */
bool shape_next(const struct shape *shape, struct field_ref *at);

struct value value_get(const struct field *field, const void *data);

static inline struct value record_get(const struct record *record, struct field_ref ref)
{
	const void *data = record->parts[ref.part];

	return data ? value_get(ref.field, data) : (struct value){.class = VALUE_UNKNOWN};
}

/* Frees frames that are the stack's own, each allocated by itself. */
void value_free_stack(struct stack *stack);

/* For writing records from text: the value that means unknown. */
void value_set_unknown(const struct field *field, void *data);
