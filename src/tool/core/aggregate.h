/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Adding events up by keys, as the kernel does it (config.h), in the program: for what the kernel cannot evaluate, for
 * recordings, and for putting together what the kernel added up. Both ways give the same rows.
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
	AGGREGATE_TOP, /* a sum, largest first, the first rows only */
};

#define AGGREGATE_EVENTS_MAX 8

/* A key that is found from a field: the text that stands for its value (NULL: unknown), which lives for the run. */
struct aggregate_label {
	const char *name;
	const char *field;
	const char *(*text)(const void *context, const struct value *value);
	const void *context;
};

/* Values below a power of two, from the class before on. */
struct aggregate_class {
	const char *name;
	uint64_t below;
};

#define AGGREGATE_CLASSES_MAX 6

/* Rows as a table, in the order of their keys, with figures besides those of the kind. */
struct aggregate_table {
	const char *adds[EVENT_ADDS_MAX]; /* further fields that are added up (of AGGREGATE_SUM and _STATS) */
	bool rates;                       /* count and sum for a second: count_rate, sum_rate */
	bool share;                       /* share of the count of all rows; these come largest first */
	unsigned share_keys;              /* share of the count of all rows that have the same first so many keys */
	const struct aggregate_class *classes; /* of AGGREGATE_HIST: columns instead of bars; the last has no name */
};

struct aggregate_spec {
	enum aggregate_kind kind;
	const char *value; /* field; NULL for counts */
	struct text_list by;
	/* Of several events: a sum for each one, under these names ("tx_bytes", "rx_bytes"), besides that of all. */
	const char *sums[AGGREGATE_EVENTS_MAX];
	const struct aggregate_label *label; /* NULL: all keys are fields */
	int64_t first, last, step;           /* of a linear histogram */
	uint64_t rows;                       /* the first so many; 0: all */
	const struct aggregate_table *table; /* NULL: only what the kind has */
};

struct aggregate;

/* shapes: of the events that will come, at least one. -EINVAL with a sentence when a field is missing or no number. */
int aggregate_open(const struct aggregate_spec *spec, const struct shape *shapes, unsigned count,
		   struct aggregate **ret_aggregate, struct why *why) _must_check_;
void aggregate_close(struct aggregate *aggregate);

/* The field of a request's events that is added up, or which is a key; .field is NULL when they have none. */
struct field_ref aggregate_value(const struct aggregate *aggregate, unsigned request);
struct field_ref aggregate_key(const struct aggregate *aggregate, unsigned request, size_t key);
/* A further field that is added up. */
struct field_ref aggregate_added(const struct aggregate *aggregate, unsigned request, unsigned index);
/* How the kernel is to do it. */
enum event_mode aggregate_mode(const struct aggregate_spec *spec);
unsigned aggregate_slot_count(const struct aggregate_spec *spec);

/* One event. */
void aggregate_add(struct aggregate *aggregate, unsigned request, const struct record *record);
/* A group of events with the keys of this record. */
void aggregate_merge(struct aggregate *aggregate, unsigned request, const struct record *record,
		     const struct event_group *group);
/* Groups that found no room. */
uint64_t aggregate_lost(const struct aggregate *aggregate);

/* The type of the rows: keys, then figures. */
const struct record_type *aggregate_type(const struct aggregate *aggregate);
/* How long the events were added up that will be taken next, for rates; 0 is unknown. */
void aggregate_set_span(struct aggregate *aggregate, uint64_t span_ns);
/* Calls fn for every row in order, then forgets them; returns how many. */
size_t aggregate_take(struct aggregate *aggregate, uint64_t time_ns, void (*fn)(const void *row, void *context),
		      void *context);
/* For drawing: what the row's histogram is of, and its slots. */
const struct field *aggregate_hist_field(const struct aggregate *aggregate);
const struct list *aggregate_hist(const struct aggregate *aggregate, const void *row);
/* The largest value of the row; nothing below zero is in a histogram. */
uint64_t aggregate_max(const struct aggregate *aggregate, const void *row);
size_t aggregate_key_count(const struct aggregate *aggregate);
