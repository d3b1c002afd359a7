/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Aggregates events by keys in user space, with the same rows as the kernel (config.h): for filters that the kernel
 * cannot evaluate, for recordings, and to merge the kernel's groups.
 */
#pragma once

#include "base/option.h"
#include "event/core/config.h"
#include "tool/core/row.h"
#include "view/hist.h"

enum aggregate_kind {
	AGGREGATE_NONE,
	AGGREGATE_COUNT,
	AGGREGATE_SUM,
	AGGREGATE_STATS,
	AGGREGATE_HIST,
	AGGREGATE_LHIST,
	AGGREGATE_TOP, /* sum, largest first, limited to N rows */
};

#define AGGREGATE_EVENTS_MAX 8

/* A key derived from a field: text for its value (NULL: unknown), valid for the whole run. */
struct aggregate_label {
	const char *name;
	const char *field;
	const char *(*text)(const void *context, const struct value *value);
	const void *context;
};

/* Values below a power of two, down to the previous class. */
struct aggregate_class {
	const char *name;
	uint64_t below;
};

#define AGGREGATE_CLASSES_MAX 6

/* Table rows in the order of their keys, with additional figures. */
struct aggregate_table {
	const char *adds[EVENT_ADDS_MAX];      /* additional summed fields */
	bool means;                            /* show their means, not their sums */
	bool percentiles;                      /* AGGREGATE_HIST: p50, p99 */
	bool rates;                            /* count and sum per second: count_rate, sum_rate */
	bool share;                            /* share of the total count; rows sorted largest first */
	unsigned share_keys;                   /* share of the count of the rows with the same first N keys */
	const struct aggregate_class *classes; /* AGGREGATE_HIST: columns instead of bars; ends with a nameless entry */
};

struct aggregate_spec {
	enum aggregate_kind kind;
	const char *value; /* field; NULL for counts */
	struct text_list by;
	/* With several events: one sum per event under these names ("tx_bytes", "rx_bytes"), besides the total. */
	const char *sums[AGGREGATE_EVENTS_MAX];
	const struct aggregate_label *label; /* NULL: all keys are fields */
	int64_t first, last, step;           /* of a linear histogram */
	uint64_t rows;                       /* limit to N rows; 0: all */
	const struct aggregate_table *table; /* NULL: no additional figures */
};

struct aggregate;

/* shapes: of the events, at least one. -EINVAL with a message if a field is missing or not a number. */
int aggregate_open(const struct aggregate_spec *spec, const struct shape *shapes, unsigned count,
		   struct aggregate **ret_aggregate, struct why *why) _must_check_;
void aggregate_close(struct aggregate *aggregate);

/* Value field and key fields of a request; .field is NULL if its event has none. */
struct field_ref aggregate_value(const struct aggregate *aggregate, unsigned request);
struct field_ref aggregate_key(const struct aggregate *aggregate, unsigned request, size_t key);
/* An additional summed field. */
struct field_ref aggregate_added(const struct aggregate *aggregate, unsigned request, unsigned index);
/* The kernel's aggregation mode. */
enum event_mode aggregate_mode(const struct aggregate_spec *spec);
unsigned aggregate_slot_count(const struct aggregate_spec *spec);

/* One event. */
void aggregate_add(struct aggregate *aggregate, unsigned request, const struct record *record);
/* Adds a group of events with the keys of this record. */
void aggregate_merge(struct aggregate *aggregate, unsigned request, const struct record *record,
		     const struct event_group *group);
/* Events lost because there was no room for their group. */
uint64_t aggregate_lost(const struct aggregate *aggregate);

/* Record type of the rows: keys, then figures. */
const struct record_type *aggregate_type(const struct aggregate *aggregate);
/* Length of the interval about to be taken, for rates; 0: unknown. */
void aggregate_set_span(struct aggregate *aggregate, uint64_t span_ns);
/* Calls fn for every row in order, then clears them; returns their number. */
size_t aggregate_take(struct aggregate *aggregate, uint64_t time_ns, void (*fn)(const void *row, void *context),
		      void *context);
/* For drawing: value field and slots of the histogram. */
const struct field *aggregate_hist_field(const struct aggregate *aggregate);
const struct list *aggregate_hist(const struct aggregate *aggregate, const void *row);
/* The largest value of the row; nothing below zero is in a histogram. */
uint64_t aggregate_max(const struct aggregate *aggregate, const void *row);
size_t aggregate_key_count(const struct aggregate *aggregate);
