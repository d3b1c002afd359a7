/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables with a row for everything that was seen, of which there may be many millions: small ones are in memory, larger
 * ones in a file without a name that ends with the program. What is resident of them stays small as long as spill_trim
 * is called now and then; rows are used as if all of them were there. The new part of a table is zero.
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

/* Grown from one size to another, both in bytes; may move. */
void *spill_resize(void *old, size_t old_bytes, size_t bytes);
void spill_free(void *table, size_t bytes);
/* Pages of large tables that were not used lately are left to the kernel; the next use brings them back. */
void spill_trim(void);

/* Where many rows are gone through: now and then. */
static inline void spill_trim_at(size_t row)
{
	if (unlikely((row & 0x3fff) == 0x3fff))
		spill_trim();
}

/* Sorts rows of this size with little memory beside them. */
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

/* So many rows, all of them zero when the table is new. */
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
