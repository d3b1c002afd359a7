/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hash table from two numbers to a third, for lookups at nearly every call of a walk. Keys are internal numbers of
 * places, nodes and functions: collisions cannot be forced from outside the traced program.
 */
#pragma once

#include <string.h>

#include "base/alloc.h"

struct pair_map {
	struct pair_map_slot {
		uint64_t key; /* 0: free */
		uint32_t value;
	} * slots;
	size_t room; /* a power of two */
	size_t count;
};

#define PAIR_MAP_FIRST 256

static inline void pair_map_init(struct pair_map *p)
{
	*p = (struct pair_map){.room = PAIR_MAP_FIRST};
	p->slots = xzalloc(p->room * sizeof(*p->slots));
}

static inline void pair_map_done(struct pair_map *p)
{
	free(p->slots);
	*p = (struct pair_map){};
}

static inline void pair_map_clear(struct pair_map *p)
{
	if (p->count)
		memset(p->slots, 0, p->room * sizeof(*p->slots));
	p->count = 0;
}

/* The first number must not be UINT32_MAX. */
static inline uint64_t pair_map_key(uint32_t a, uint32_t b)
{
	return ((uint64_t)a + 1) << 32 | b;
}

/* Slot of the key, or where to insert it. */
static inline struct pair_map_slot *pair_map_slot(const struct pair_map *p, uint64_t key)
{
	uint64_t hash = key * UINT64_C(0x9e3779b97f4a7c15);
	size_t at = (size_t)(hash ^ hash >> 32) & (p->room - 1);

	while (p->slots[at].key && p->slots[at].key != key)
		at = (at + 1) & (p->room - 1);
	return &p->slots[at];
}

static inline void pair_map_grow(struct pair_map *p)
{
	struct pair_map old = *p;

	p->room = old.room * 2;
	p->slots = xzalloc(p->room * sizeof(*p->slots));
	for (size_t i = 0; i < old.room; i++)
		if (old.slots[i].key)
			*pair_map_slot(p, old.slots[i].key) = old.slots[i];
	free(old.slots);
}

/* The value; 0: none. */
static inline uint32_t pair_map_get(const struct pair_map *p, uint32_t a, uint32_t b)
{
	return pair_map_slot(p, pair_map_key(a, b))->value;
}

/* Pointer to the value, 0 when new; valid until the next call. */
static inline uint32_t *pair_map_at(struct pair_map *p, uint32_t a, uint32_t b)
{
	uint64_t key = pair_map_key(a, b);
	struct pair_map_slot *slot;

	if (unlikely(p->count * 2 >= p->room))
		pair_map_grow(p);
	slot = pair_map_slot(p, key);
	p->count += !slot->key;
	slot->key = key;
	return &slot->value;
}
