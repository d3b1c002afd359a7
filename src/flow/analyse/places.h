/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Places of shapes: a place is a function at the end of a path of callers. Every different one has a number, so that
 * what two shapes have in common is counted without a look at the paths.
 */
#pragma once

#include "flow/analyse/forest.h"
#include "flow/analyse/pair_map.h"

#define PLACES_MAX 20000 /* of one shape */

struct place_visit {
	uint32_t place;
	uint32_t node;
};

struct places {
	const struct forest *shapes;
	VEC(uint64_t) edges;           /* by place: caller << 32 | function at its end; [0] is the shape itself */
	struct pair_map index;         /* place and function -> place */
	struct pair_map visited;       /* place and node, of the shape at hand */
	VEC(struct place_visit) stack; /* still to be looked at */
	VEC(uint32_t) marks;           /* by place: the set that was marked last */
	uint32_t mark;
};

struct place_set {
	uint32_t *items;
	uint32_t count;
};

void places_init(struct places *places, const struct forest *shapes);
void places_done(struct places *places);

/* Each place of the shape once. The caller's to free. */
struct place_set places_of(struct places *places, uint32_t shape);
/* Whose places are counted next. */
void places_mark(struct places *places, const struct place_set *set);
/* How many places of the set are in the one that was marked. */
uint32_t places_common(const struct places *places, const struct place_set *set);
