/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/places.h"

#define ROOM_FIRST 1024

static uint64_t pair(uint32_t a, uint32_t b)
{
	return (uint64_t)a << 32 | b;
}

static void table_init(struct place_table *t, size_t room)
{
	*t = (struct place_table){.room = room};
	t->keys = xzalloc(room * sizeof(*t->keys));
	t->values = xzalloc(room * sizeof(*t->values));
}

static void table_done(struct place_table *t)
{
	free(t->keys);
	free(t->values);
}

static size_t slot_of(const struct place_table *t, uint64_t key)
{
	uint64_t hash = key * UINT64_C(0x9e3779b97f4a7c15);
	size_t at = (size_t)(hash ^ hash >> 32) & (t->room - 1);

	while (t->keys[at] && t->keys[at] != key)
		at = (at + 1) & (t->room - 1);
	return at;
}

static void table_grow(struct place_table *t)
{
	struct place_table old = *t;

	table_init(t, old.room * 2);
	t->count = old.count;
	for (size_t i = 0; i < old.room; i++)
		if (old.keys[i]) {
			size_t at = slot_of(t, old.keys[i]);

			t->keys[at] = old.keys[i];
			t->values[at] = old.values[i];
		}
	table_done(&old);
}

/* Where the value is; a new one is 0. */
static uint32_t *table_at(struct place_table *t, uint64_t key)
{
	size_t at;

	if (t->count * 2 >= t->room)
		table_grow(t);
	at = slot_of(t, key);
	t->count += !t->keys[at];
	t->keys[at] = key;
	return &t->values[at];
}

static void table_clear(struct place_table *t)
{
	if (t->count)
		memset(t->keys, 0, t->room * sizeof(*t->keys));
	t->count = 0;
}

void places_init(struct places *p, const struct forest *shapes)
{
	*p = (struct places){.shapes = shapes};
	table_init(&p->index, ROOM_FIRST);
	table_init(&p->visited, ROOM_FIRST);
	vec_push(&p->edges, 0);
	vec_push(&p->marks, 0);
}

void places_done(struct places *p)
{
	table_done(&p->index);
	table_done(&p->visited);
	vec_done(&p->edges);
	vec_done(&p->stack);
	vec_done(&p->marks);
}

static uint32_t place_at(struct places *p, uint32_t parent, uint32_t caller, uint32_t fn)
{
	/* A key must not be 0, and places and functions are counted from there. */
	uint32_t *place = table_at(&p->index, pair(parent + 1, fn));

	if (!*place) {
		*place = (uint32_t)p->edges.count;
		vec_push(&p->edges, pair(caller, fn));
		vec_push(&p->marks, 0);
	}
	return *place;
}

/* One node at one place is looked at once, however often it is called. */
static void visit(struct places *p, uint32_t place, uint32_t node)
{
	uint64_t key = pair(place, node);
	size_t before = p->visited.count;

	(void)table_at(&p->visited, key);
	if (p->visited.count != before)
		vec_push(&p->stack, key);
}

struct place_set places_of(struct places *p, uint32_t shape)
{
	VEC(uint32_t) found = {};

	table_clear(&p->visited);
	p->mark++;
	p->stack.count = 0;
	vec_push(&p->stack, pair(0, shape));
	while (p->stack.count && found.count < PLACES_MAX) {
		uint64_t at = p->stack.items[--p->stack.count];
		uint32_t place = (uint32_t)(at >> 32), fn = p->shapes->nodes.items[(uint32_t)at].fn;
		size_t count;
		const struct forest_item *items = forest_items(p->shapes, (uint32_t)at, &count);

		if (p->marks.items[place] != p->mark) {
			p->marks.items[place] = p->mark;
			vec_push(&found, place);
		}
		for (size_t i = 0; i < count; i++)
			visit(p, place_at(p, place, fn, p->shapes->nodes.items[items[i].node].fn), items[i].node);
	}
	return (struct place_set){xrealloc_array(found.items, max_of(found.count, (size_t)1), sizeof(*found.items)),
				  (uint32_t)found.count};
}

void places_mark(struct places *p, const struct place_set *set)
{
	p->mark++;
	for (uint32_t i = 0; i < set->count; i++)
		p->marks.items[set->items[i]] = p->mark;
}

uint32_t places_common(const struct places *p, const struct place_set *set)
{
	const uint32_t *marks = p->marks.items;
	uint32_t mark = p->mark, common = 0;

	for (uint32_t i = 0; i < set->count; i++)
		common += marks[set->items[i]] == mark;
	return common;
}
