/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/analyse/coarsen.h"
#include "base/text.h"

const struct option_spec coarsen_option_table[] = {
	OPTION(struct coarsen_options, depth, UINT, "depth", 0, "N", "omit calls nested deeper than N", .min = 1,
	       .max = 1000),
	OPTION(struct coarsen_options, modules, FLAG, "modules", 0, NULL,
	       "keep only calls between programs and libraries"),
	OPTION(struct coarsen_options, hide, NAMES, "hide", 0, "PATTERN,..",
	       "omit these functions; their callees take their place (lib*!* is a whole library)"),
	OPTION(struct coarsen_options, only, NAMES, "only", 0, "PATTERN,..", "omit all other functions"),
	OPTION(struct coarsen_options, min_ns, DURATION, "longer", 0, "TIME",
	       "omit functions with no call of at least TIME"),
	OPTION(struct coarsen_options, max_functions, UINT, "functions", 0, "N",
	       "keep the N functions with the most time and variation", .min = 1, .max = 1000000),
	OPTION_END,
};

bool coarsen_wanted(const struct coarsen_options *o)
{
	return o->depth || o->modules || o->hide.count || o->only.count || o->min_ns || o->max_functions;
}

static bool matches(const struct coarsen *c, const struct text_list *patterns, size_t fn)
{
	const struct flow_function *function = &c->trace->functions[fn];
	_cleanup_buf_ struct buf full = BUF_INIT(8192);

	buf_add_format(&full, "%s!%s", c->trace->modules[function->module].name, function->name);
	/*
	 * A pattern without a module matches the function's name alone: serve* does not match a program called server.
	 */
	for (size_t i = 0; i < patterns->count; i++)
		if (text_glob_match(patterns->items[i],
				    strchr(patterns->items[i], '!') ? buf_text(&full) : function->name))
			return true;
	return false;
}

static void hide_by_name(struct coarsen *c)
{
	for (size_t i = 0; i < c->trace->function_count; i++)
		c->is_hidden[i] |= (c->options->hide.count && matches(c, &c->options->hide, i)) ||
				   (c->options->only.count && !matches(c, &c->options->only, i));
}

struct relevance {
	size_t fn;
	uint64_t max_ticks, self_ticks;
	double bits; /* entropy of whether the caller makes the call, at most 1 */
	double score;
};

static int by_score(const void *a, const void *b)
{
	const struct relevance *one = a, *other = b;

	if (one->score != other->score)
		return one->score > other->score ? -1 : 1;
	return one->fn < other->fn ? -1 : one->fn > other->fn;
}

static double surprise(double p)
{
	return p <= 0 || p >= 1 ? 0 : -p * log2(p) - (1 - p) * log2(1 - p);
}

/* Self time and calls made by only some sessions are more informative than calls made by all. */
static struct relevance *measure(const struct profile *profile, size_t function_count)
{
	struct relevance *t = xzalloc(max_of(function_count, (size_t)1) * sizeof(*t));
	uint64_t all = 0;

	for (size_t i = 0; i < function_count; i++)
		t[i].fn = i;
	for (size_t i = 1; i < profile->places.count; i++) {
		const struct profile_place *place = &profile->places.items[i];
		const struct profile_place *parent = &profile->places.items[place->parent];
		uint32_t seen = profile_seen(profile, (uint32_t)i, 0);
		uint32_t of = place->parent && !parent->is_dispatcher ? profile_seen(profile, place->parent, 0)
								      : profile->looked_at[0];
		struct relevance *one = &t[place->fn];

		for (unsigned g = 0; g < PROFILE_GROUPS; g++)
			one->max_ticks = max_of(one->max_ticks, place->group[g].max_ticks);
		/* Time outside sessions and in dispatchers is not informative. */
		one->self_ticks += place->group[0].self_ticks;
		all += place->group[0].self_ticks;
		one->bits = max_of(one->bits, of ? surprise((double)seen / of) : 0);
	}
	for (size_t i = 0; i < function_count; i++)
		t[i].score = t[i].bits + (all ? 10 * (double)t[i].self_ticks / (double)all : 0);
	return t;
}

static void hide_by_figures(struct coarsen *c, struct flow_sessions *sessions)
{
	_cleanup_(profile_freep) struct profile *profile = profile_new_seen(sessions, NULL, 2);
	_cleanup_free_ struct relevance *relevance = measure(profile, c->trace->function_count);
	size_t kept = 0;

	for (size_t i = 0; i < c->trace->function_count; i++)
		c->is_hidden[i] |=
			c->options->min_ns && flow_span_ns(c->trace, relevance[i].max_ticks) < c->options->min_ns;
	if (!c->options->max_functions)
		return;
	qsort(relevance, c->trace->function_count, sizeof(*relevance), by_score);
	for (size_t i = 0; i < c->trace->function_count; i++) {
		if (kept >= c->options->max_functions)
			c->is_hidden[relevance[i].fn] = true;
		kept += !c->is_hidden[relevance[i].fn];
	}
}

void coarsen_init(struct coarsen *c, const struct coarsen_options *options, struct flow_sessions *sessions)
{
	*c = (struct coarsen){.trace = sessions->trace, .options = options};
	c->is_hidden = xzalloc(max_of(sessions->trace->function_count, (size_t)1));
	hide_by_name(c);
	if (options->min_ns || options->max_functions)
		hide_by_figures(c, sessions);
	/* [0] is not a function. */
	for (size_t i = 1; i < sessions->trace->function_count; i++)
		c->hidden_count += c->is_hidden[i];
}

bool coarsen_is_empty(const struct coarsen *c)
{
	return c->options->only.count && c->hidden_count + 1 >= c->trace->function_count;
}

void coarsen_done(struct coarsen *c)
{
	free(c->is_hidden);
	c->is_hidden = NULL;
}

/* An omitted call is a block: its items take its place. */
static void add_item(struct forest *into, struct forest_row *row, uint32_t node, uint32_t times)
{
	size_t count;
	const struct forest_item *items = forest_items(into, node, &count);

	if (into->nodes.items[node].fn != FOREST_BLOCK || times > 1) {
		if (count || into->nodes.items[node].fn != FOREST_BLOCK)
			vec_push(&row->items, (struct forest_item){node, times});
		return;
	}
	if (!count)
		return;
	vec_reserve(&row->items, row->items.count + count);
	memcpy(row->items.items + row->items.count, items, count * sizeof(*items));
	row->items.count += count;
}

struct coarse {
	uint32_t shown;   /* the call itself */
	uint32_t spliced; /* block of its callees */
};

static struct coarse coarsen_one(const struct coarsen *c, const struct forest *from, uint32_t node, struct forest *into,
				 const struct coarse *done)
{
	uint32_t fn = from->nodes.items[node].fn;
	uint32_t module = fn == FOREST_BLOCK ? UINT32_MAX : c->trace->functions[fn].module;
	struct forest_row row = {};
	struct forest_walk walk;
	struct forest_item item;
	struct coarse result;

	forest_walk_begin(&walk, from, node);
	while (forest_walk_next(&walk, &item)) {
		uint32_t inner = from->nodes.items[item.node].fn;
		bool inside = c->options->modules && c->trace->functions[inner].module == module;

		add_item(into, &row, c->is_hidden[inner] || inside ? done[item.node].spliced : done[item.node].shown,
			 item.times);
	}
	result.spliced = forest_cons(into, FOREST_BLOCK, row.items.items, row.items.count);
	result.shown = fn == FOREST_BLOCK ? result.spliced : forest_cons(into, fn, row.items.items, row.items.count);
	vec_done(&row.items);
	return result;
}

/* Cuts deeper calls, level by level: the same tree may occur at several depths. */
static uint32_t cut(struct forest *forest, uint32_t node, uint64_t depth, struct map *memo)
{
	struct {
		uint64_t depth;
		uint64_t node;
	} key = {depth, node};
	uint32_t fn = forest->nodes.items[node].fn, *known = map_get(memo, &key), made;
	struct forest_row row = {};
	struct forest_walk walk;
	struct forest_item item;

	if (known)
		return *known;
	if (depth) {
		forest_walk_begin(&walk, forest, node);
		while (forest_walk_next(&walk, &item))
			vec_push(&row.items, (struct forest_item){cut(forest, item.node, depth - 1, memo), item.times});
	}
	made = forest_cons(forest, fn, row.items.items, row.items.count);
	vec_done(&row.items);
	*(uint32_t *)map_put(memo, &key, NULL) = made;
	return made;
}

uint32_t coarsen_tree(const struct coarsen *c, const struct forest *from, uint32_t node, struct forest *into)
{
	_cleanup_free_ struct coarse *done = xzalloc(((size_t)node + 1) * sizeof(*done));
	_cleanup_free_ bool *reached = forest_reached(from, node);
	uint32_t result;

	for (uint32_t i = 1; i <= node; i++)
		if (reached[i])
			done[i] = coarsen_one(c, from, i, into, done);
	result = done[node].shown;
	if (c->options->depth) {
		struct map memo = MAP_INIT(16, sizeof(uint32_t), 0);

		result = cut(into, result, c->options->depth, &memo);
		map_done(&memo);
	}
	return result;
}
