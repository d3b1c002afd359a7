/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lists of plain values, [1,2,3] and ["a","b"], as fields of a record. Many small things of one kind are a record of
 * such lists, one per property: small as JSON, and described by its field table all the same.
 */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "record/field.h"

extern const struct record_type bare_number_type; /* of uint64_t; UINT64_MAX: unknown */
extern const struct record_type bare_text_type;   /* of const char * */

typedef VEC(uint64_t) bare_numbers;
typedef VEC(const char *) bare_texts;

/* A vector of either as a list; an empty one is empty, not unknown. */
#define BARE_LIST(vec)                                                                                                 \
	(struct list)                                                                                                  \
	{                                                                                                              \
		(vec)->items ? (const void *)(vec)->items : "", (uint32_t)(vec)->count                                 \
	}

/* Texts that many items share: each is in the list once, and an item has its number. */
struct bare_pool {
	struct map index;
	bare_texts texts; /* as they were given, not copied */
};

uint32_t bare_pool_put(struct bare_pool *pool, const char *text);
void bare_pool_done(struct bare_pool *pool);
