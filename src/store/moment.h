/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Moments of a recording. A duration that is measured from the time of reading ("last sent 3 s ago", field->moment)
 * changes while nothing happens. A recording stores the moment instead, in time since boot, in the column
 * last_sent_boot_ns of the field last_sent_ns. A moment is estimated: it moves by a few milliseconds between two
 * readings and stays as first estimated until it moves further than that.
 */
#pragma once

#include "base/buf.h"
#include "record/value.h"
#include "snapshot/core/snapshot.h"

/* The time that the durations of a snapshot are measured from. */
static inline int64_t moment_reference(const struct snapshot *snapshot)
{
	return (int64_t)(snapshot->sockets_boot_ns ?: snapshot->begin_boot_ns);
}

/* How far estimates of the same moment may lie apart. */
int64_t moment_tolerance(const struct snapshot *snapshot);
/* Name of the column, to be freed. */
char *moment_column(const struct field *field);
/* The moment, if the record knows the duration. */
bool moment_get(const struct field *field, const void *data, int64_t reference_ns, int64_t *ret_moment_ns);
/* Sets the duration from the moment. */
void moment_set(const struct field *field, void *data, int64_t reference_ns, int64_t moment_ns);
/* Whether a new estimate is that of the same moment. A timer that has expired stays at zero. */
bool moment_holds(const struct field *field, int64_t held_ns, int64_t now_ns, int64_t reference_ns,
		  int64_t tolerance_ns);
/* SQL expression of the duration, from the column of the state table t and the sample s. */
void moment_add_readable(const struct field *field, struct buf *sql);
