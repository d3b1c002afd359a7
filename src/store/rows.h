/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Iteration over the rows of one table of a recording, in the order they were written. */
#pragma once

#include "store/recording.h"

struct rows;

struct rows_request {
	const char *name;
	const struct shape *shape;
	uint64_t from_ns, to_ns; /* range of time_ns; states: valid at any time in it. to_ns 0: to the end */
};

int rows_open(struct recording *recording, const struct rows_request *request, struct rows **ret_rows,
	      struct why *why) _must_check_;
/*
 * Reads the next row into the caller's memory (parts[i] of shape->types[i]->size bytes); the caller frees its strings
 * with rows_free_parts. 1, 0 at the end, or an error.
 */
int rows_next(struct rows *rows, void *const *parts, struct why *why) _must_check_;
void rows_free_parts(const struct shape *shape, void *const *parts);
/* Of the last row of a state table. */
struct state_span {
	int64_t first, last, pos;
};
const struct state_span *rows_span(const struct rows *rows);
/* Of a state table: makes durations of moments, as of this time. Before, these fields have no meaning. */
void rows_set_durations(const struct rows *rows, void *const *parts, int64_t reference_ns);
/* Rows skipped because a cell did not match its field. */
uint64_t rows_refused(const struct rows *rows);
void rows_close(struct rows *rows);
static inline void rows_closep(struct rows **rows)
{
	rows_close(*rows);
}
