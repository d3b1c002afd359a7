/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Classes of sessions. A session's shape is its call tree with every loop and recursion once: the repeat count is size,
 * not behaviour. Equal shapes form a class, and so do shapes that differ in few places: a timer that takes another
 * branch of its tree, an allocator that needs a new block, a clock read once per second. Such noise is a small part of
 * a session; different client behaviour changes much of it.
 */
#include "flow/analyse/places.h"
#include "flow/analyse/session.h"

/* Longest loop body searched for, in calls. */
#define LOOP_MAX 8
/* Minimum share of common places for two shapes of one class. */
#define CLASS_ALIKE 0.9
/* Minimum sessions of a class before its variation counts as noise. */
#define NOISE_SESSIONS 8
/* A shape is compared with at most this many others, the most frequent ones. */
#define LEADERS_MAX 256
/* Noise is learned from this many shapes, the most frequent ones. */
#define LEARN_MAX 1000

static bool ends_twice(const struct forest_row *row, size_t n)
{
	size_t count = row->items.count;

	if (count < n * 2)
		return false;
	for (size_t i = 0; i < n; i++)
		if (row->items.items[count - 1 - i].node != row->items.items[count - 1 - n - i].node)
			return false;
	return true;
}

/* Appends the node, and removes repeats of up to LOOP_MAX calls. */
static void add_once(struct forest_row *row, uint32_t node)
{
	vec_push(&row->items, (struct forest_item){node, 1});
	for (size_t n = 1; n <= LOOP_MAX && n * 2 <= row->items.count; n++)
		if (ends_twice(row, n)) {
			row->items.count -= n;
			n = 0;
		}
}

static bool is_noise(const struct flow_sessions *s, uint64_t caller, uint32_t fn)
{
	return s->noise.count && map_get(&s->noise, &(uint64_t){caller << 32 | fn});
}

/* Children have smaller numbers than their parents, so one forward pass suffices. */
static uint32_t *summarise_all(struct flow_sessions *s)
{
	uint32_t *shape_of = xzalloc(s->forest.nodes.count * sizeof(*shape_of));
	struct forest_row row = {};

	forest_done(&s->shapes);
	forest_init(&s->shapes, s->trace->function_count);
	for (size_t i = 1; i < s->forest.nodes.count; i++) {
		uint32_t fn = s->forest.nodes.items[i].fn;
		struct forest_walk walk;
		struct forest_item item;

		row.items.count = 0;
		forest_walk_begin(&walk, &s->forest, (uint32_t)i);
		while (forest_walk_next(&walk, &item)) {
			uint32_t shape = shape_of[item.node];
			const struct forest_node *n = &s->shapes.nodes.items[shape];

			if (is_noise(s, fn, n->fn))
				continue;
			/* Recursion: the inner call's callees belong to the function. */
			if (n->fn != fn) {
				add_once(&row, shape);
				continue;
			}
			for (uint32_t k = 0; k < n->count; k++)
				add_once(&row, s->shapes.items.items[n->first + k].node);
		}
		shape_of[i] = forest_cons(&s->shapes, fn, row.items.items, row.items.count);
	}
	vec_done(&row.items);
	return shape_of;
}

/* --- shapes --- */

struct shape_use {
	uint32_t shape;
	uint32_t sessions;
	uint32_t first;  /* session */
	uint32_t class;  /* another shape of the same class, or itself */
	uint32_t number; /* of the class */
	struct place_set places;
};

/* Shapes of one trace, and the edges known as noise. */
struct classifier {
	struct flow_sessions *s;
	const uint32_t *shape_of;
	size_t shapes_max; /* number of most frequent shapes considered */
	struct places places;
	VEC(struct shape_use) all;
};

/* Share of common places of the marked shape and another one. */
static double alike(const struct classifier *c, const struct place_set *marked, const struct place_set *other)
{
	uint32_t common = places_common(&c->places, other), all = marked->count + other->count - common;

	return all ? (double)common / (double)all : 1;
}

/* Upper bound: the smaller set. */
static bool may_be_alike(const struct place_set *a, const struct place_set *b)
{
	return min_of(a->count, b->count) >= CLASS_ALIKE * max_of(a->count, b->count);
}

/* --- classes --- */

static int by_frequency(const void *a, const void *b)
{
	const struct shape_use *one = a, *other = b;

	if (one->sessions != other->sessions)
		return one->sessions > other->sessions ? -1 : 1;
	return one->first < other->first ? -1 : one->first > other->first;
}

static int by_size(const void *a, const void *b)
{
	const struct flow_class *one = a, *other = b;

	if (one->sessions != other->sessions)
		return one->sessions > other->sessions ? -1 : 1;
	return one->example < other->example ? -1 : one->example > other->example;
}

static void forget(struct classifier *c)
{
	vec_each(&c->all, u)
		free(u->places.items);
	vec_done(&c->all);
	places_done(&c->places);
}

static void collect(struct classifier *c)
{
	struct map index = MAP_INIT(sizeof(uint32_t), sizeof(uint32_t), 0);

	for (size_t i = 0; i < c->s->list.count; i++) {
		const struct flow_row *row = &c->s->list.items[i];
		uint32_t shape = row->tree ? c->shape_of[row->tree] : 0, *at;
		bool is_new;

		at = map_put(&index, &shape, &is_new);
		if (is_new) {
			*at = (uint32_t)c->all.count;
			vec_push(&c->all, (struct shape_use){.shape = shape, .first = (uint32_t)i});
		}
		c->all.items[*at].sessions += (uint32_t)min_of(flow_row_count(c->s, row), (uint64_t)(UINT32_MAX >> 8));
		spill_trim_at(i);
	}
	map_done(&index);
	vec_sort(&c->all, by_frequency);
	c->all.count = min_of(c->all.count, c->shapes_max);
	places_init(&c->places, &c->s->shapes);
	vec_each(&c->all, u)
		u->places = places_of(&c->places, u->shape);
}

static uint32_t root_of(struct classifier *c, uint32_t at)
{
	struct shape_use *all = c->all.items;

	while (all[at].class != at) {
		all[at].class = all[all[at].class].class;
		at = all[at].class;
	}
	return at;
}

/*
 * Similar shapes form a class, transitively: noise of several kinds adds up, but in small steps from one session to the
 * next; behaviour does not.
 */
static void join(struct classifier *c)
{
	struct shape_use *all = c->all.items;

	for (size_t i = 0; i < c->all.count; i++)
		all[i].class = (uint32_t)i;
	for (size_t i = 1; i < c->all.count; i++) {
		places_mark(&c->places, &all[i].places);
		for (size_t k = 0; k < min_of(i, (size_t)LEADERS_MAX); k++) {
			uint32_t one = root_of(c, (uint32_t)i), other = root_of(c, (uint32_t)k);

			if (one != other && may_be_alike(&all[i].places, &all[k].places) &&
			    alike(c, &all[i].places, &all[k].places) >= CLASS_ALIKE)
				all[max_of(one, other)].class = min_of(one, other);
		}
	}
	/* The root of a class is its most frequent shape, which comes first. */
	for (size_t i = 0; i < c->all.count; i++) {
		uint32_t root = root_of(c, (uint32_t)i);
		struct flow_class *class;

		if (root == i) {
			all[i].number = (uint32_t)c->s->classes.count;
			class = vec_add(&c->s->classes);
			class->class = all[i].number;
			class->example = all[i].first;
		}
		all[i].number = all[root].number;
		class = &c->s->classes.items[all[i].number];
		class->sessions += all[i].sessions;
		class->example = min_of(class->example, all[i].first);
	}
}

/* Calls that come and go within one class are noise, there and in the others. */
static void learn_noise(struct classifier *c, const struct flow_class *class)
{
	_cleanup_free_ uint64_t *sessions = xzalloc(c->places.edges.count * sizeof(*sessions));

	vec_each(&c->all, u)
		for (size_t i = 0; u->number == class->class && i < u->places.count; i++)
			sessions[u->places.items[i]] += u->sessions;
	for (size_t i = 0; i < c->places.edges.count; i++)
		if (sessions[i] && sessions[i] < class->sessions)
			(void)map_put(&c->s->noise, &c->places.edges.items[i], NULL);
}

static void find_medians(struct flow_sessions *s)
{
	flow_weighed_table spans = {};

	for (size_t i = 0; i < s->list.count; i++) {
		const struct flow_row *row = &s->list.items[i];

		spill_push(&spans, (struct flow_weighed){
					   .value = flow_row_span_ns(s, row),
					   .count = flow_row_count(s, row),
					   .class = row->class,
				   });
		spill_trim_at(i);
	}
	flow_weighed_sort(&spans);
	for (size_t i = 0, end; i < spans.count; i = end) {
		uint32_t class = spans.items[i].class;

		for (end = i; end < spans.count && spans.items[end].class == class; end++)
			spill_trim_at(end);
		s->classes.items[class - 1].median_ns = flow_median(spans.items + i, end - i);
	}
	spill_done(&spans);
}

/* The first shape of a class is its most frequent one, and classes are numbered in that order. */
static void measure_distances(struct classifier *c)
{
	for (size_t i = 0; i < c->all.count; i++) {
		struct flow_class *class = &c->s->classes.items[c->all.items[i].number];
		double best = 0;

		if (c->all.items[i].class != i)
			continue;
		class->nearest = class->class;
		places_mark(&c->places, &c->all.items[i].places);
		for (size_t k = 0; k < min_of(i, (size_t)LEADERS_MAX); k++) {
			uint32_t other = c->all.items[k].number;
			double share =
				other == class->class ? 0 : alike(c, &c->all.items[i].places, &c->all.items[k].places);

			if (c->s->classes.items[other].sessions >= class->sessions && share > best) {
				best = share;
				class->nearest = other;
			}
		}
		class->apart = 1 - best;
	}
}

/* Numbers classes by size. */
static void number(struct classifier *c)
{
	struct flow_sessions *s = c->s;
	uint32_t *class_of = xzalloc(s->shapes.nodes.count * sizeof(*class_of));
	uint32_t *renumbered = xzalloc(max_of(s->classes.count, (size_t)1) * sizeof(*renumbered));

	s->distinct_of = xzalloc(s->shapes.nodes.count * sizeof(*s->distinct_of));
	vec_sort(&s->classes, by_size);
	for (size_t i = 0; i < s->classes.count; i++) {
		renumbered[s->classes.items[i].class] = (uint32_t)i + 1;
		s->classes.items[i].class = (uint32_t)i + 1;
	}
	vec_each(&s->classes, class)
		class->nearest = renumbered[class->nearest];
	vec_each(&c->all, u) {
		class_of[u->shape] = renumbered[u->number];
		s->distinct_of[u->shape] = u->places.count - 1;
	}
	for (size_t i = 0; i < s->list.count; i++) {
		struct flow_row *row = &s->list.items[i];

		row->class = class_of[row->tree ? c->shape_of[row->tree] : 0];
		spill_trim_at(i);
	}
	free(class_of);
	free(renumbered);
}

/* Noise is learned from raw shapes; classes are built from shapes without it. */
void flow_sessions_classify(struct flow_sessions *s)
{
	struct classifier c = {.s = s, .shapes_max = LEARN_MAX};
	uint32_t *shape_of;

	s->noise = MAP_INIT(sizeof(uint64_t), 1, 0);
	c.shape_of = shape_of = summarise_all(s);
	collect(&c);
	join(&c);
	vec_each(&s->classes, class)
		if (class->sessions >= NOISE_SESSIONS)
			learn_noise(&c, class);
	forget(&c);
	vec_done(&s->classes);
	if (s->noise.count) {
		free(shape_of);
		c.shape_of = shape_of = summarise_all(s);
	}
	c.shapes_max = SIZE_MAX;
	collect(&c);
	join(&c);
	measure_distances(&c);
	number(&c);
	find_medians(s);
	forget(&c);
	s->shape_of = shape_of;
}
