/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/analyse/forest.h"

#define SLOTS_FIRST 1024
/* Cache of recent nodes. */
#define RECENT      ((size_t)1 << RECENT_BITS)
#define RECENT_BITS 11
/* Minimum, mean excess and maximum number of items of a block. */
#define BLOCK_MIN  16
#define BLOCK_MEAN 64
#define BLOCK_MAX  512
#define LEVEL_MAX  14

void forest_init(struct forest *forest, size_t function_count)
{
	*forest = (struct forest){.slot_count = SLOTS_FIRST, .leaf_count = function_count};
	forest->slots = xzalloc(SLOTS_FIRST * sizeof(*forest->slots));
	forest->leaves = xzalloc(max_of(function_count, (size_t)1) * sizeof(*forest->leaves));
	forest->recent = xzalloc(RECENT * sizeof(*forest->recent));
	(void)vec_add(&forest->nodes);
}

void forest_done(struct forest *forest)
{
	vec_done(&forest->nodes);
	vec_done(&forest->items);
	free(forest->slots);
	free(forest->leaves);
	free(forest->recent);
	*forest = (struct forest){};
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

static uint32_t hash_of(uint32_t fn, const struct forest_item *items, size_t count)
{
	uint64_t hash = mix(count, fn);

	for (size_t i = 0; i < count; i++)
		hash = mix(hash, (uint64_t)items[i].node << 32 | items[i].times);
	return (uint32_t)(hash >> 32 ^ hash);
}

static void grow(struct forest *forest)
{
	free(forest->slots);
	forest->slot_count *= 2;
	forest->slots = xzalloc(forest->slot_count * sizeof(*forest->slots));
	for (size_t i = 1; i < forest->nodes.count; i++) {
		size_t at = forest->nodes.items[i].hash & (forest->slot_count - 1);

		while (forest->slots[at])
			at = (at + 1) & (forest->slot_count - 1);
		forest->slots[at] = (uint32_t)i;
	}
}

static uint64_t calls_of(const struct forest *forest, uint32_t fn, const struct forest_item *items, size_t count)
{
	uint64_t calls = fn != FOREST_BLOCK;

	for (size_t i = 0; i < count; i++)
		calls += forest->nodes.items[items[i].node].calls * items[i].times;
	return calls;
}

static uint32_t add(struct forest *forest, uint32_t fn, uint32_t hash, const struct forest_item *items, size_t count)
{
	uint32_t id = (uint32_t)forest->nodes.count;
	uint64_t calls = calls_of(forest, fn, items, count);
	size_t first = forest->items.count;

	/* Numbers are 32 bits; that many distinct trees exceed memory anyway. */
	if (id == UINT32_MAX || first + count >= UINT32_MAX)
		abort();
	vec_reserve(&forest->items, first + count);
	if (count)
		memcpy(forest->items.items + first, items, count * sizeof(*items));
	forest->items.count = first + count;
	vec_push(&forest->nodes, (struct forest_node){fn, (uint32_t)first, (uint32_t)count, hash, calls});
	if (!count && fn < forest->leaf_count)
		forest->leaves[fn] = id;
	return id;
}

/* Both halves at once. */
static uint64_t word_of(const struct forest_item *item)
{
	uint64_t word;

	memcpy(&word, item, sizeof(word));
	return word;
}

/* Most rows are short: a memcmp call costs more than the comparison. */
static bool same_items(const struct forest_item *a, const struct forest_item *b, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (word_of(&a[i]) != word_of(&b[i]))
			return false;
	return true;
}

static uint32_t find_or_add(struct forest *forest, uint32_t fn, const struct forest_item *items, size_t count)
{
	uint32_t hash = hash_of(fn, items, count), id;
	size_t at = hash & (forest->slot_count - 1);

	while ((id = forest->slots[at])) {
		const struct forest_node *n = &forest->nodes.items[id];

		if (n->hash == hash && n->fn == fn && n->count == count &&
		    same_items(vec_from(&forest->items, n->first), items, count))
			return id;
		at = (at + 1) & (forest->slot_count - 1);
	}
	id = add(forest, fn, hash, items, count);
	forest->slots[at] = id;
	if (forest->nodes.count * 2 > forest->slot_count)
		grow(forest);
	return id;
}

/* Cache slot of a node: function, number of calls and last call usually identify it. */
static uint32_t *recent_of(const struct forest *forest, uint32_t fn, const struct forest_item *items, size_t count)
{
	uint64_t hash =
		((uint64_t)fn << 32 ^ count << 24 ^ (count ? items[count - 1].node : 0)) * UINT64_C(0x9e3779b97f4a7c15);

	return &forest->recent[hash >> (64 - RECENT_BITS)];
}

uint32_t forest_cons(struct forest *forest, uint32_t fn, const struct forest_item *items, size_t count)
{
	uint32_t *recent = recent_of(forest, fn, items, count);
	const struct forest_node *n = &forest->nodes.items[*recent];

	if (likely(*recent && n->fn == fn && n->count == count) &&
	    same_items(vec_from(&forest->items, n->first), items, count))
		return *recent;
	return *recent = find_or_add(forest, fn, items, count);
}

/*
 * End of a block that starts at the first item, chosen by content so that it does not depend on position; 0: none here.
 */
static size_t block_end(const struct forest_item *items, size_t count)
{
	for (size_t i = BLOCK_MIN; i < count; i++)
		if (mix(items[i].node, items[i - 1].node) % BLOCK_MEAN == 0 || i == BLOCK_MAX)
			return i + 1;
	return 0;
}

/* Calls have level 0; items of a block share one level. */
static unsigned level_of(const struct forest *forest, uint32_t node)
{
	unsigned level = 0;

	while (forest->nodes.items[node].fn == FOREST_BLOCK && forest->nodes.items[node].count) {
		node = forest->items.items[forest->nodes.items[node].first].node;
		level++;
	}
	return level;
}

/* Turns the items from `begin` on into blocks. */
static void make_blocks(struct forest *forest, struct forest_row *row, size_t begin)
{
	struct forest_item *items = row->items.items;
	size_t end = row->items.count, to = begin, from = begin;

	if (begin == end)
		return;
	for (size_t n; (n = block_end(items + from, end - from)); from += n) {
		uint32_t block = forest_cons(forest, FOREST_BLOCK, items + from, n);

		if (to > begin && items[to - 1].node == block)
			items[to - 1].times++;
		else
			items[to++] = (struct forest_item){block, 1};
	}
	memmove(items + to, items + from, (end - from) * sizeof(*items));
	row->items.count = to + (end - from);
}

/* A row is blocks of high level, then of lower levels, then calls; a long part moves one level up. */
void forest_row_shorten(struct forest *forest, struct forest_row *row, size_t begin)
{
	size_t end = row->items.count;

	for (unsigned level = 0; level < LEVEL_MAX; level++) {
		size_t first = end;

		while (first > begin && level_of(forest, row->items.items[first - 1].node) <= level)
			first--;
		if (end - first < FOREST_ROW_LONG / 4)
			return;
		make_blocks(forest, row, first);
		/* The rest of this level stays behind the new blocks. */
		end = row->items.count;
		while (end > first && level_of(forest, row->items.items[end - 1].node) <= level)
			end--;
	}
}

void forest_walk_begin(struct forest_walk *walk, const struct forest *forest, uint32_t node)
{
	*walk = (struct forest_walk){.forest = forest, .depth = 1};
	walk->steps[0].node = node;
	walk->steps[0].times = 0;
}

bool forest_walk_next(struct forest_walk *walk, struct forest_item *ret_item)
{
	const struct forest *forest = walk->forest;

	while (walk->depth) {
		struct forest_step *step = &walk->steps[walk->depth - 1];
		const struct forest_node *n = &forest->nodes.items[step->node];
		struct forest_item item;

		if (step->item >= n->count) {
			/* A repeated block starts again. */
			if (step->times > 1) {
				step->times--;
				step->item = 0;
				continue;
			}
			walk->depth--;
			continue;
		}
		item = forest->items.items[n->first + step->item++];
		if (forest->nodes.items[item.node].fn != FOREST_BLOCK || walk->depth == ARRAY_SIZE(walk->steps)) {
			*ret_item = item;
			return true;
		}
		walk->steps[walk->depth++] = (struct forest_step){.node = item.node, .times = item.times};
	}
	return false;
}

/* Children have smaller numbers than their parents. */
bool *forest_reached(const struct forest *forest, uint32_t node)
{
	bool *reached = xzalloc((size_t)node + 1);

	reached[node] = true;
	for (uint32_t i = node + 1; i-- > 1;) {
		size_t count;
		const struct forest_item *items;

		if (!reached[i])
			continue;
		items = forest_items(forest, i, &count);
		for (size_t k = 0; k < count; k++)
			reached[items[k].node] = true;
	}
	return reached;
}
