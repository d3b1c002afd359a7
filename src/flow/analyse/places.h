/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Places of shapes: a place is a function at the end of a call path. Places are numbered, so common places of two
 * shapes are counted without comparing paths.
 */
#pragma once

#include "flow/analyse/forest.h"
#include "flow/analyse/pair_map.h"

#define PLACES_MAX 20000 /* per shape */

struct place_visit {
	uint32_t place;
	uint32_t node;
};

struct places {
	const struct forest *shapes;
	VEC(uint64_t) edges;           /* by place: caller << 32 | function; [0] is the shape itself */
	struct pair_map index;         /* place and function -> place */
	struct pair_map visited;       /* place and node, of the current shape */
	VEC(struct place_visit) stack; /* to visit */
	VEC(uint32_t) marks;           /* by place: the last set that marked it */
	uint32_t mark;
};

struct place_set {
	uint32_t *items;
	uint32_t count;
};

void places_init(struct places *places, const struct forest *shapes);
void places_done(struct places *places);

/* Each place of the shape once. The caller frees it. */
struct place_set places_of(struct places *places, uint32_t shape);
/* Selects the set to compare with. */
void places_mark(struct places *places, const struct place_set *set);
/* Places of the set that are also in the marked one. */
uint32_t places_common(const struct places *places, const struct place_set *set);
