/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A growing array of any type:
 *
 *	VEC(struct thing) things = {};
 *	vec_push(&things, thing);
 *	vec_each(&things, t)
 *		use(t);
 *	vec_done(&things);
 */
#pragma once

#include <string.h>

#include "base/alloc.h"

#define VEC(type)                                                                                                      \
	struct {                                                                                                       \
		type *items;                                                                                           \
		size_t count;                                                                                          \
		size_t room;                                                                                           \
	}

#define vec_reserve(v, n)                                                                                              \
	do {                                                                                                           \
		size_t vec_need_ = (n);                                                                                \
		if (vec_need_ > (v)->room) {                                                                           \
			(v)->room = max_of(vec_need_, (v)->room * 2 + 8);                                              \
			(v)->items = xrealloc_array((v)->items, (v)->room, sizeof(*(v)->items));                       \
		}                                                                                                      \
	} while (0)

#define vec_push(v, ...)                                                                                               \
	do {                                                                                                           \
		vec_reserve((v), (v)->count + 1);                                                                      \
		(v)->items[(v)->count++] = (__VA_ARGS__);                                                              \
	} while (0)

/* Appends a zeroed item and yields its address, valid until the next push. */
#define vec_add(v)                                                                                                     \
	({                                                                                                             \
		vec_reserve((v), (v)->count + 1);                                                                      \
		memset(&(v)->items[(v)->count], 0, sizeof(*(v)->items));                                               \
		&(v)->items[(v)->count++];                                                                             \
	})

/* Address of that item; NULL for an empty vector, whose items are NULL. */
#define vec_from(v, at) ((v)->items ? (v)->items + (at) : NULL)

/* Checks the count first: the items of an empty vector are NULL. */
#define vec_each(v, item)                                                                                              \
	for (typeof(*(v)->items) *item = (v)->items; (v)->count && item < (v)->items + (v)->count; item++)

#define vec_sort(v, compare)                                                                                           \
	do {                                                                                                           \
		if ((v)->count > 1)                                                                                    \
			qsort((v)->items, (v)->count, sizeof(*(v)->items), (compare));                                 \
	} while (0)

#define vec_done(v)                                                                                                    \
	do {                                                                                                           \
		free((v)->items);                                                                                      \
		(v)->items = NULL;                                                                                     \
		(v)->count = 0;                                                                                        \
		(v)->room = 0;                                                                                         \
	} while (0)
