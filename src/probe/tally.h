/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A table of the snapshot made of an event of the catalogue that the kernel aggregates: one record per key with running
 * totals since the first sample of a repeated request (a look, a watch, a recording). Single samples and requests
 * without BPF load nothing and have no records; a kernel or user that cannot trace is a gap. Closed with the snapshot.
 *
 *	static const char *const keys[] = {"netns", "laddr", "lport", NULL}, *const rest[] = {"netns", NULL};
 *	static const struct tally reset_tally = {
 *		.event = "tcp.reset", .by = keys, .rest = rest, .value = "time_ns", .cap = 4096, .fill = fill};
 *	TALLY_SOURCE(reset_source, reset_tally, reset_type, "reset", "connections reset, by flow");
 *
 * Fields of the record type with the name, store and size of a key are copied; fill() sets the figures and what is
 * derived. `by` must hold "netns": only the namespaces of the request are reported, and a slice finds its own.
 *
 * Programs are loaded once, at the end of the first sample: some ms of CPU, most of it the verifier. Later samples
 * read the kernel's maps where they are, without a grace period. Beyond `cap` keys, further ones are added up by the
 * keys of `rest`, all other fields unknown; what the kernel itself had no room for counts as refused by the table. A
 * record that rests for a minute may disappear, and a key that comes back begins at zero (delta_between: a reset).
 *
 * Events with a finisher or with stacks of their own cannot be tallied. Two tallies of one event are two loads.
 */
#pragma once

#include "event/core/event_source.h"
#include "snapshot/core/snapshot.h"

/* Totals of one key; sum, min and max are of tally.value, zero without one. */
struct tally_figures {
	uint64_t count;
	int64_t sum;
	int64_t min, max;
	int64_t adds[EVENT_ADDS_MAX];
	/* With the value "time_ns": CLOCK_REALTIME of the first and the last event. */
	uint64_t first_ns, last_ns;
};

struct tally {
	const char *event;
	const char *where;       /* condition that the kernel can evaluate (event/core/filter.h); may be NULL */
	const char *const *by;   /* fields, NULL at the end */
	const char *const *rest; /* those of the keys beyond the cap; a subset of by */
	const char *value;       /* NULL: count only */
	const char *adds[EVENT_ADDS_MAX]; /* additional summed fields; only with a value */
	uint32_t cap;                     /* keys with a record of their own */
	/* Counts from the first sample in which this is so; NULL: from the first. *memory is zero at first. */
	bool (*sign)(const struct snapshot *snapshot, uint64_t *memory);
	/* event: the event with its keys (event_shape), all else unknown. False: no record. */
	bool (*fill)(struct snapshot *snapshot, const struct record *event, const struct tally_figures *figures,
		     void *record);
};

/* For the macro below. */
int tally_collect(const struct tally *tally, struct snapshot *snapshot, const struct snapshot_request *request,
		  struct why *why) _must_check_;
void tally_release(void *state);

#define TALLY_SOURCE(object, tally_object, type_object, source_name, lost_text)                                        \
	static int object##_collect(struct snapshot *snapshot, const struct snapshot_request *request,                 \
				    struct why *why)                                                                   \
	{                                                                                                              \
		return tally_collect(&(tally_object), snapshot, request, why);                                         \
	}                                                                                                              \
	static const struct record_type *const object##_types[] = {&(type_object), NULL};                              \
	static const struct snapshot_source object = {                                                                 \
		.name = (source_name),                                                                                 \
		.lost = (lost_text),                                                                                   \
		.types = object##_types,                                                                               \
		.stage = STAGE_REST,                                                                                   \
		.on_demand = true,                                                                                     \
		.state_size = sizeof(void *),                                                                          \
		.collect = object##_collect,                                                                           \
		.release = tally_release,                                                                              \
	};                                                                                                             \
	SNAPSHOT_SOURCE(object)
