/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/analyse/fold.h"
#include "base/map.h"

/* Period candidates per position, and passes over a row: constants, to keep the time linear. */
#define CANDIDATES 4
#define PASSES     12
#define WINDOW_ONE 2
#define WINDOW_MAX 32

const char *const fold_algorithm_names[] = {"linear", "window", "search", NULL};

struct folder {
	struct forest *forest;
	const struct fold_options *options;
	struct forest_item *from, *to;
	size_t from_count, to_count;
	bool hashed;      /* hashes are up to date */
	uint64_t *hashes; /* prefix hashes */
	uint64_t *powers;
	size_t *next; /* position of the next equal item; SIZE_MAX: none */
};

#define BASE UINT64_C(0x9e3779b97f4a7c15)

static uint64_t symbol(const struct forest_item *item)
{
	return (uint64_t)item->node << 32 | item->times;
}

static bool same_range(const struct folder *f, size_t a, size_t b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (symbol(&f->from[a + i]) != symbol(&f->from[b + i]))
			return false;
	return true;
}

/* Rolling hashes modulo 2^64: a hit is verified item by item. */
static bool equal_range(const struct folder *f, size_t a, size_t b, size_t n)
{
	if (f->hashed &&
	    f->hashes[a + n] - f->hashes[a] * f->powers[n] != f->hashes[b + n] - f->hashes[b] * f->powers[n])
		return false;
	return same_range(f, a, b, n);
}

static void emit(struct folder *f, uint32_t node, uint32_t times)
{
	if (f->to_count && f->to[f->to_count - 1].node == node && f->to[f->to_count - 1].times <= UINT32_MAX - times)
		f->to[f->to_count - 1].times += times;
	else
		f->to[f->to_count++] = (struct forest_item){node, times};
}

/* Consecutive repeats of the n items at `at`. */
static size_t count_repeats(const struct folder *f, size_t at, size_t n)
{
	size_t times = 1;

	while (at + (times + 1) * n <= f->from_count && equal_range(f, at, at + times * n, n))
		times++;
	return times;
}

static size_t emit_group(struct folder *f, size_t at, size_t n, size_t times)
{
	if (n == 1)
		emit(f, f->from[at].node, (uint32_t)(f->from[at].times * times));
	else
		emit(f, forest_cons(f->forest, FOREST_BLOCK, f->from + at, n), (uint32_t)times);
	return at + n * times;
}

/* One pass with one window size. */
static bool fold_window(struct folder *f, size_t n)
{
	bool any = false;

	f->to_count = 0;
	for (size_t at = 0; at < f->from_count;) {
		size_t times = at + 2 * n <= f->from_count ? count_repeats(f, at, n) : 1;

		any |= times > 1;
		at = emit_group(f, at, times > 1 ? n : 1, times);
	}
	return any;
}

static void prepare(struct folder *f)
{
	struct map last = MAP_INIT(sizeof(uint64_t), sizeof(size_t), 0);

	f->hashed = true;
	f->hashes[0] = 0;
	f->powers[0] = 1;
	for (size_t i = 0; i < f->from_count; i++) {
		f->hashes[i + 1] = f->hashes[i] * BASE + symbol(&f->from[i]) * UINT64_C(0xff51afd7ed558ccd) + 1;
		f->powers[i + 1] = f->powers[i] * BASE;
	}
	for (size_t i = f->from_count; i-- > 0;) {
		uint64_t key = symbol(&f->from[i]);
		bool is_new;
		size_t *at = map_put(&last, &key, &is_new);

		f->next[i] = is_new ? SIZE_MAX : *at;
		*at = i;
	}
	map_done(&last);
}

/* One pass: the period is the distance to the next equal item. */
static bool fold_periods(struct folder *f)
{
	bool any = false;

	prepare(f);
	f->to_count = 0;
	for (size_t at = 0; at < f->from_count;) {
		size_t times = 1, n = 0, next = f->next[at];

		for (unsigned i = 0; i < CANDIDATES && times == 1 && next != SIZE_MAX; i++, next = f->next[next]) {
			n = next - at;
			if (next + n > f->from_count)
				break;
			times = count_repeats(f, at, n);
		}
		any |= times > 1;
		at = emit_group(f, at, times > 1 ? n : 1, times);
	}
	return any;
}

static void swap(struct folder *f)
{
	struct forest_item *items = f->from;

	f->from = f->to;
	f->from_count = f->to_count;
	f->to = items;
	f->hashed = false;
}

/* Until nothing repeats; folded items may repeat in turn. */
static void fold_all(struct folder *f)
{
	size_t limit = f->options->window ? f->options->window : WINDOW_MAX;

	switch (f->options->algorithm) {
	case FOLD_WINDOW:
		(void)fold_window(f, f->options->window ? f->options->window : WINDOW_ONE);
		swap(f);
		return;
	case FOLD_SEARCH:
		for (unsigned pass = 0, any = 1; any && pass < PASSES; pass++) {
			any = 0;
			for (size_t n = 1; n <= limit && n * 2 <= f->from_count; n++) {
				any |= fold_window(f, n);
				swap(f);
			}
		}
		return;
	case FOLD_LINEAR:
		/* Runs first: a run at the end of a loop body would hide the loop. */
		(void)fold_window(f, 1);
		swap(f);
		for (unsigned pass = 0; pass < PASSES && fold_periods(f); pass++)
			swap(f);
		return;
	}
}

void fold_row(struct forest *forest, const struct fold_options *options, struct forest_row *row)
{
	size_t count = row->items.count;
	struct folder f = {.forest = forest, .options = options, .from = row->items.items, .from_count = count};
	_cleanup_free_ struct forest_item *other = NULL;
	_cleanup_free_ uint64_t *hashes = NULL, *powers = NULL;
	_cleanup_free_ size_t *next = NULL;

	if (count < 2)
		return;
	f.to = other = xrealloc_array(NULL, count, sizeof(*other));
	if (options->algorithm == FOLD_LINEAR) {
		f.hashes = hashes = xrealloc_array(NULL, count + 1, sizeof(*hashes));
		f.powers = powers = xrealloc_array(NULL, count + 1, sizeof(*powers));
		f.next = next = xrealloc_array(NULL, count, sizeof(*next));
	}
	fold_all(&f);
	if (f.from != row->items.items)
		memcpy(row->items.items, f.from, f.from_count * sizeof(*f.from));
	row->items.count = f.from_count;
}

/* --- trees --- */

uint32_t fold_tree(const struct forest *from, uint32_t node, const struct fold_options *options, struct forest *into,
		   uint32_t *memo)
{
	struct map first = MAP_INIT(sizeof(uint32_t), sizeof(uint32_t), 0);
	_cleanup_free_ bool *reached = forest_reached(from, node);
	struct forest_row row = {};

	for (uint32_t i = 1; i <= node; i++) {
		uint32_t *stand_in = NULL;
		struct forest_walk walk;
		struct forest_item item;

		if (!reached[i])
			continue;
		if (options->alike)
			stand_in = map_put(&first, &options->alike[i], NULL);
		if (stand_in && *stand_in)
			memo[i] = *stand_in;
		if (memo[i])
			continue;
		row.items.count = 0;
		forest_walk_begin(&walk, from, i);
		while (forest_walk_next(&walk, &item))
			vec_push(&row.items, (struct forest_item){memo[item.node], item.times});
		fold_row(into, options, &row);
		memo[i] = forest_cons(into, from->nodes.items[i].fn, row.items.items, row.items.count);
		if (stand_in)
			*stand_in = memo[i];
	}
	map_done(&first);
	vec_done(&row.items);
	return memo[node];
}

/* The only item that is a recursive call; SIZE_MAX: none, or several. */
static size_t self_call(const struct forest *forest, uint32_t node)
{
	uint32_t fn = forest->nodes.items[node].fn;
	size_t count, found = SIZE_MAX;
	const struct forest_item *items = forest_items(forest, node, &count);

	for (size_t i = 0; i < count; i++)
		if (forest->nodes.items[items[i].node].fn == fn) {
			if (found != SIZE_MAX || items[i].times != 1)
				return SIZE_MAX;
			found = i;
		}
	return found;
}

/* Whether both make the same calls around the recursive one. */
static bool same_around(const struct forest *forest, uint32_t a, uint32_t b, size_t at)
{
	size_t a_count, b_count;
	const struct forest_item *one = forest_items(forest, a, &a_count), *other = forest_items(forest, b, &b_count);

	if (a_count != b_count)
		return false;
	for (size_t i = 0; i < a_count; i++)
		if (i != at && (one[i].node != other[i].node || one[i].times != other[i].times))
			return false;
	return true;
}

struct fold_recursion fold_recursion(const struct forest *forest, uint32_t node)
{
	struct fold_recursion found = {1, node};
	size_t at = forest->nodes.items[node].fn == FOREST_BLOCK ? SIZE_MAX : self_call(forest, node);

	while (at != SIZE_MAX) {
		uint32_t inner = forest->items.items[forest->nodes.items[found.base].first + at].node;

		found.base = inner;
		found.levels++;
		if (self_call(forest, inner) != at || !same_around(forest, node, inner, at))
			break;
	}
	return found;
}
