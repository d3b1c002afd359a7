/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The record model: everything nest shows is a record of a declared type with named, typed fields. A type is declared
 * once, as a table next to the C struct; text, JSON, CSV, database columns, filters and documentation are generated
 * from that table.
 *
 *	struct wait { uint32_t pid; char comm[16]; uint64_t lat_ns; };
 *	static const struct field wait_fields[] = {
 *		FIELD(struct wait, pid, ID, "waiting process", .zero_is_unknown = true),
 *		FIELD(struct wait, comm, TEXT, "process name"),
 *		FIELD(struct wait, lat_ns, DURATION, "time waited"),
 *	};
 *	RECORD_TYPE(wait_type, "wait", struct wait, wait_fields, "wait of a process");
 *
 * Unknown is a separate value, stored in the member so that BPF code can write it: all bits set for unsigned numbers,
 * the smallest value for signed ones, NaN, family 0 of an address, an empty text, a list without items pointer; and
 * zero where the table says zero_is_unknown. It is shown as "-", null in JSON, and no comparison with it is true.
 */
#pragma once

#include <math.h>

#include "base/addr.h"
#include "record/enum.h"

/* The meaning of a value, which defines how it is shown, compared, parsed and stored. */
enum field_kind {
	KIND_COUNT, /* a number of things; scaled in text (12.3k) */
	KIND_ID,    /* an identifier: pid, port; never scaled, shown by its name if it has one */
	KIND_HEX,   /* a handle or pointer */
	KIND_BOOL,
	KIND_BYTES,
	KIND_DURATION, /* nanoseconds */
	KIND_TIME,     /* nanoseconds since 1970 */
	KIND_RATIO,    /* a share (0 to 1), or any real number without unit */
	KIND_ENUM,     /* a named number */
	KIND_FLAGS,    /* named bits */
	KIND_ADDR,
	KIND_ENDPOINT, /* address and port in one */
	KIND_TEXT,
	KIND_STACK, /* symbolised frames, innermost first */
	KIND_LIST,  /* records of another type */
};

/* Storage in the struct, derived by the compiler from the member's type. */
enum field_store {
	STORE_NONE,
	STORE_U8,
	STORE_U16,
	STORE_U32,
	STORE_U64,
	STORE_I8,
	STORE_I16,
	STORE_I32,
	STORE_I64,
	STORE_BOOL,
	STORE_DOUBLE,
	STORE_CHARS,  /* char[n], terminated or full */
	STORE_STRING, /* const char * */
	STORE_ADDR,
	STORE_ENDPOINT,
	STORE_STACK,
	STORE_LIST,
};

/* A duration that changes while nothing happens, because it is measured from or to the time of reading. */
enum field_moment {
	MOMENT_NONE,
	MOMENT_SINCE, /* the time since something: it was at that moment */
	MOMENT_UNTIL, /* the time until something: it will be at that moment */
};

#define DRIFTS HUGE_VAL

struct stack {
	const char *const *frames;
	uint32_t count;
};

struct record_type;

/* An array of items of the element type. */
struct list {
	const void *items;
	uint32_t count;
};

struct field {
	const char *name;
	const char *help;
	enum field_kind kind;
	enum field_store store;
	uint32_t offset;
	uint32_t size;
	bool zero_is_unknown;
	bool hidden;                       /* shown as a column only with --show or -w; always in JSON */
	bool exact;                        /* shown as an administrator types it: MTU 1500, qdisc 8001:, 12.345678 s */
	bool as_bits;                      /* bytes per second, shown as bits: 95.2 Mbit/s */
	const char *unit;                  /* where the kind does not define it: "B/s", "bit/s", "/s", "%" of a share */
	const char *unknown;               /* shown for an unknown value; NULL: "-" */
	const char *heading;               /* where the name without unit is another field's; also a valid name */
	struct enum_names *names;          /* of KIND_ENUM and KIND_FLAGS; of KIND_ID if some numbers have names */
	const struct record_type *element; /* of KIND_LIST */
	enum field_moment moment;          /* recordings store the moment, so that a row at rest is not written again */
	bool incidental; /* observers change it as well: recordings write no row for a change of it alone */
	/*
	 * It changes while the network is at rest, by this much per second at most, and the diagnosis looks at its
	 * rate: recordings leave out samples in which nothing else changed, a replay interpolates (store/lull.h).
	 * DRIFTS: however fast.
	 */
	double drift;
	bool made;   /* computed in user space from the event: no filter or grouping in the kernel */
	bool single; /* of KIND_LIST: at most one item, written without brackets */
};

struct record_type {
	const char *name;
	const char *help;
	const struct field *fields;
	uint32_t field_count;
	uint32_t size;
	bool bare; /* as a list element, its only field is written without an object around it */
};

REGISTRY(record_type, struct record_type);

/* The address is taken so that arrays keep their type. */
#define FIELD_STORE(type, member)                                                                                      \
	_Generic(&((type *)0)->member,                                       \
		unsigned char *: STORE_U8,                                   \
		unsigned short *: STORE_U16,                                 \
		unsigned int *: STORE_U32,                                   \
		unsigned long *: STORE_U64,                                  \
		unsigned long long *: STORE_U64,                             \
		signed char *: STORE_I8,                                     \
		short *: STORE_I16,                                          \
		int *: STORE_I32,                                            \
		long *: STORE_I64,                                           \
		long long *: STORE_I64,                                      \
		bool *: STORE_BOOL,                                          \
		double *: STORE_DOUBLE,                                      \
		char(*)[sizeof(((type *)0)->member)]: STORE_CHARS,           \
		const char **: STORE_STRING,                                 \
		struct addr *: STORE_ADDR,                                   \
		struct endpoint *: STORE_ENDPOINT,                           \
		struct stack *: STORE_STACK,                                 \
		struct list *: STORE_LIST,                                   \
		default: STORE_NONE)

#define STORES_UNSIGNED (1u << STORE_U8 | 1u << STORE_U16 | 1u << STORE_U32 | 1u << STORE_U64)
#define STORES_SIGNED   (1u << STORE_I8 | 1u << STORE_I16 | 1u << STORE_I32 | 1u << STORE_I64)

/* The stores that a kind supports. */
#define STORES_COUNT    (STORES_UNSIGNED | STORES_SIGNED)
#define STORES_ID       (STORES_UNSIGNED | STORES_SIGNED)
#define STORES_HEX      STORES_UNSIGNED
#define STORES_BOOL     (1u << STORE_BOOL | 1u << STORE_U8)
#define STORES_BYTES    (STORES_UNSIGNED | STORES_SIGNED)
#define STORES_DURATION (1u << STORE_U64 | 1u << STORE_I64)
#define STORES_TIME     (1u << STORE_U64)
#define STORES_RATIO    (1u << STORE_DOUBLE)
#define STORES_ENUM     STORES_UNSIGNED
#define STORES_FLAGS    STORES_UNSIGNED
#define STORES_ADDR     (1u << STORE_ADDR)
#define STORES_ENDPOINT (1u << STORE_ENDPOINT)
#define STORES_TEXT     (1u << STORE_CHARS | 1u << STORE_STRING)
#define STORES_STACK    (1u << STORE_STACK)
#define STORES_LIST     (1u << STORE_LIST)

#define FIELD_CHECKED_STORE(type, member, kind)                                                                        \
	(FIELD_STORE(type, member) + 0 * sizeof(struct {                                                               \
					     _Static_assert(STORES_##kind >> FIELD_STORE(type, member) & 1,            \
							    "member " #member " has a type that KIND_" #kind           \
							    " does not support");                                      \
					     int dummy;                                                                \
				     }))

#define FIELD_AS(type, member, field_name, field_kind, help_text, ...)                                                 \
	{                                                                                                              \
		.name = (field_name), .help = (help_text), .kind = KIND_##field_kind,                                  \
		.store = FIELD_CHECKED_STORE(type, member, field_kind), .offset = offsetof(type, member),              \
		.size = sizeof(((type *)0)->member), __VA_ARGS__                                                       \
	}

#define FIELD(type, member, field_kind, help_text, ...)                                                                \
	FIELD_AS(type, member, #member, field_kind, help_text, __VA_ARGS__)

#define RECORD_TYPE(object, type_name, c_type, field_table, help_text, ...)                                            \
	const struct record_type object = {.name = (type_name),                                                        \
					   .help = (help_text),                                                        \
					   .fields = (field_table),                                                    \
					   .field_count = ARRAY_SIZE(field_table),                                     \
					   .size = sizeof(c_type),                                                     \
					   __VA_ARGS__};                                                               \
	REGISTER(record_type, struct record_type, object)
