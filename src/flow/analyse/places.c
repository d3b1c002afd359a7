/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/analyse/places.h"

void places_init(struct places *p, const struct forest *shapes)
{
	*p = (struct places){.shapes = shapes};
	pair_map_init(&p->index);
	pair_map_init(&p->visited);
	vec_push(&p->edges, 0);
	vec_push(&p->marks, 0);
}

void places_done(struct places *p)
{
	pair_map_done(&p->index);
	pair_map_done(&p->visited);
	vec_done(&p->edges);
	vec_done(&p->stack);
	vec_done(&p->marks);
}

static uint32_t place_at(struct places *p, uint32_t parent, uint32_t caller, uint32_t fn)
{
	uint32_t *place = pair_map_at(&p->index, parent, fn);

	if (!*place) {
		*place = (uint32_t)p->edges.count;
		vec_push(&p->edges, (uint64_t)caller << 32 | fn);
		vec_push(&p->marks, 0);
	}
	return *place;
}

/* Visits each node once per place, however often it is called. */
static void visit(struct places *p, uint32_t place, uint32_t node)
{
	size_t before = p->visited.count;

	(void)pair_map_at(&p->visited, place, node);
	if (p->visited.count != before)
		vec_push(&p->stack, (struct place_visit){place, node});
}

struct place_set places_of(struct places *p, uint32_t shape)
{
	VEC(uint32_t) found = {};

	pair_map_clear(&p->visited);
	p->mark++;
	p->stack.count = 0;
	vec_push(&p->stack, (struct place_visit){0, shape});
	while (p->stack.count && found.count < PLACES_MAX) {
		struct place_visit at = p->stack.items[--p->stack.count];
		uint32_t fn = p->shapes->nodes.items[at.node].fn;
		size_t count;
		const struct forest_item *items = forest_items(p->shapes, at.node, &count);

		if (p->marks.items[at.place] != p->mark) {
			p->marks.items[at.place] = p->mark;
			vec_push(&found, at.place);
		}
		for (size_t i = 0; i < count; i++)
			visit(p, place_at(p, at.place, fn, p->shapes->nodes.items[items[i].node].fn), items[i].node);
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
