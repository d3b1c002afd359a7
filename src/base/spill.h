/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables of many millions of rows: small ones are in memory, larger ones in a nameless temporary file that is mapped.
 * Their resident size stays small if spill_trim is called regularly; all rows are addressable as in memory. New rows
 * are zero.
 *
 *	SPILL(struct row) rows = {};
 *	spill_push(&rows, row);
 *	vec_each(&rows, r)
 *		use(r);
 *	spill_done(&rows);
 */
#pragma once

#include "base/vec.h"

#define SPILL(type) VEC(type)

/*
 * Opens the file of the tables, which the first large one does otherwise: for a process that will not be allowed to
 * open files. Without a file, tables are in memory.
 */
void spill_prepare(void);
/* Grows from one size to another, in bytes; may move. */
void *spill_resize(void *old, size_t old_bytes, size_t bytes);
void spill_free(void *table, size_t bytes);
/* Releases pages of large tables that were not used recently; the next access reads them again. */
void spill_trim(void);

/* Call in loops over many rows. */
static inline void spill_trim_at(size_t row)
{
	if (unlikely((row & 0x3fff) == 0x3fff))
		spill_trim();
}

/* The same for rows that are far apart: the kernel maps 64 KiB around each. */
static inline void spill_trim_apart(size_t row)
{
	if (unlikely((row & 0x3f) == 0x3f))
		spill_trim();
}

/* Sorts rows of this size with little extra memory. */
void spill_sort(void *rows, size_t count, size_t size, int (*compare)(const void *, const void *));

#define spill_reserve(s, n)                                                                                            \
	do {                                                                                                           \
		size_t spill_need_ = (n);                                                                              \
		if (unlikely(spill_need_ > (s)->room)) {                                                               \
			size_t spill_room_ = max_of(spill_need_, (s)->room + (s)->room / 2 + 64);                      \
			(s)->items = spill_resize((s)->items, (s)->room * sizeof(*(s)->items),                         \
						  spill_room_ * sizeof(*(s)->items));                                  \
			(s)->room = spill_room_;                                                                       \
		}                                                                                                      \
	} while (0)

#define spill_push(s, ...)                                                                                             \
	do {                                                                                                           \
		spill_reserve((s), (s)->count + 1);                                                                    \
		(s)->items[(s)->count++] = (__VA_ARGS__);                                                              \
	} while (0)

/* Sets the number of rows to n; all zero in a new table. */
#define spill_fill(s, n)                                                                                               \
	do {                                                                                                           \
		spill_reserve((s), (n));                                                                               \
		(s)->count = (n);                                                                                      \
	} while (0)

#define spill_done(s)                                                                                                  \
	do {                                                                                                           \
		spill_free((s)->items, (s)->room * sizeof(*(s)->items));                                               \
		(s)->items = NULL;                                                                                     \
		(s)->count = 0;                                                                                        \
		(s)->room = 0;                                                                                         \
	} while (0)
