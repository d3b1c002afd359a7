/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two numbers lead to a third: a hash table for where a walk over calls asks at nearly every call. The numbers are places, nodes and
 * functions, counted by ourselves: nobody can aim at collisions who does not own the trace's program.
 */
#pragma once

#include <string.h>

#include "base/alloc.h"

struct links {
	struct link_slot {
		uint64_t key; /* 0: free */
		uint32_t value;
	} * slots;
	size_t room; /* a power of two */
	size_t count;
};

#define LINKS_FIRST 256

static inline void links_init(struct links *p)
{
	*p = (struct links){.room = LINKS_FIRST};
	p->slots = xzalloc(p->room * sizeof(*p->slots));
}

static inline void links_done(struct links *p)
{
	free(p->slots);
	*p = (struct links){};
}

static inline void links_clear(struct links *p)
{
	if (p->count)
		memset(p->slots, 0, p->room * sizeof(*p->slots));
	p->count = 0;
}

/* The first number must not be the largest there is. */
static inline uint64_t links_key(uint32_t a, uint32_t b)
{
	return ((uint64_t)a + 1) << 32 | b;
}

/* Where the key is, or would be. */
static inline struct link_slot *links_slot(const struct links *p, uint64_t key)
{
	uint64_t hash = key * UINT64_C(0x9e3779b97f4a7c15);
	size_t at = (size_t)(hash ^ hash >> 32) & (p->room - 1);

	while (p->slots[at].key && p->slots[at].key != key)
		at = (at + 1) & (p->room - 1);
	return &p->slots[at];
}

static inline void links_grow(struct links *p)
{
	struct links old = *p;

	p->room = old.room * 2;
	p->slots = xzalloc(p->room * sizeof(*p->slots));
	for (size_t i = 0; i < old.room; i++)
		if (old.slots[i].key)
			*links_slot(p, old.slots[i].key) = old.slots[i];
	free(old.slots);
}

/* What they lead to, 0 when nothing is known. */
static inline uint32_t links_get(const struct links *p, uint32_t a, uint32_t b)
{
	return links_slot(p, links_key(a, b))->value;
}

/* Where that is kept, 0 when it is new; until the next one is asked for. */
static inline uint32_t *links_at(struct links *p, uint32_t a, uint32_t b)
{
	uint64_t key = links_key(a, b);
	struct link_slot *slot;

	if (unlikely(p->count * 2 >= p->room))
		links_grow(p);
	slot = links_slot(p, key);
	p->count += !slot->key;
	slot->key = key;
	return &slot->value;
}
