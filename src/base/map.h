/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hash map from keys of one fixed size (compared as bytes: zero the padding) or from strings (key_size 0) to values
 * of one fixed size, stored inline. The hash is seeded per process, so input cannot force collisions. A cap limits the
 * number of entries.
 */
#pragma once

#include "base/macros.h"

struct map {
	size_t key_size; /* 0: keys are strings, copied in */
	size_t value_size;
	size_t cap; /* maximum number of entries; 0: no limit */
	size_t count;
	size_t slots; /* a power of two, or 0 before the first entry */
	size_t used;  /* slots that are not empty, including removed ones */
	uint8_t *states;
	uint8_t *entries;
};

#define MAP_INIT(key_bytes, value_bytes, limit)                                                                        \
	(struct map)                                                                                                   \
	{                                                                                                              \
		.key_size = (key_bytes), .value_size = (value_bytes), .cap = (limit)                                   \
	}

void map_done(struct map *m);
/* The value, or NULL. Valid until the next map_put or map_remove. */
void *map_get(const struct map *m, const void *key);
/* The value of an existing or a new, zeroed entry; NULL when a new one would exceed the cap. ret_new may be NULL. */
void *map_put(struct map *m, const void *key, bool *ret_new);
bool map_remove(struct map *m, const void *key);
/* Iterates: size_t at = 0; while (map_next(m, &at, &key, &value)) ...; removing the current entry is allowed. */
bool map_next(const struct map *m, size_t *at, const void **ret_key, void **ret_value);
