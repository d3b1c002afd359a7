/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/flow_minutes.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* Twice what a tally keeps: keys that come and go within a minute. */
#define TOTALS_MAX 8192

struct known_total {
	struct flow_total total;
	uint64_t read; /* number of the reading */
};

struct grown_flow {
	struct flow_minutes_key key;
	struct flow_total total;
};

void flow_minutes_init(struct flow_minutes *minutes)
{
	*minutes = (struct flow_minutes){
		.totals = MAP_INIT(sizeof(struct flow_minutes_key), sizeof(struct known_total), TOTALS_MAX),
		.grown = MAP_INIT(sizeof(struct flow_minutes_key), sizeof(struct flow_total), TOTALS_MAX),
	};
}

void flow_minutes_done(struct flow_minutes *minutes)
{
	map_done(&minutes->totals);
	map_done(&minutes->grown);
}

void flow_minutes_begin(struct flow_minutes *minutes)
{
	minutes->reads++;
}

/* What happened, without the flow. */
static struct flow_minutes_key rest_of(const struct flow_minutes_key *key)
{
	struct flow_minutes_key rest;

	memset(&rest, 0, sizeof(rest));
	memcpy(rest.what, key->what, sizeof(rest.what));
	rest.netns = key->netns;
	rest.dir = key->dir;
	rest.proto = key->proto;
	return rest;
}

static void add_to(struct map *sums, const struct flow_minutes_key *key, const struct flow_total *grown)
{
	struct flow_minutes_key rest = rest_of(key);
	struct flow_total *sum = map_put(sums, key, NULL) ?: map_put(sums, &rest, NULL);

	if (!sum)
		return;
	sum->count += grown->count;
	sum->bytes += grown->bytes;
}

void flow_minutes_read(struct flow_minutes *minutes, const struct flow_minutes_key *key, uint64_t count, uint64_t bytes)
{
	struct known_total *known = map_put(&minutes->totals, key, NULL), none = {};
	struct flow_minutes_key row = *key;
	struct flow_total grown;

	/* Without room its total would count as growth: left to the next reading that has room. */
	if (!known)
		return;
	/* A total that shrank began again. */
	if (count < known->total.count || bytes < known->total.bytes)
		*known = none;
	grown = (struct flow_total){count - known->total.count, bytes - known->total.bytes};
	*known = (struct known_total){.total = {count, bytes}, .read = minutes->reads};
	if (grown.count == 0)
		return;
	row.cookie = 0;
	row.state = row.flags = 0;
	add_to(&minutes->grown, &row, &grown);
}

void flow_minutes_end(struct flow_minutes *minutes)
{
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&minutes->totals, &at, &key, &value))
		if (((struct known_total *)value)->read != minutes->reads)
			(void)map_remove(&minutes->totals, key);
}

static int largest_first(const void *a, const void *b)
{
	const struct grown_flow *x = a, *y = b;

	if (x->total.count != y->total.count)
		return x->total.count < y->total.count ? 1 : -1;
	return memcmp(&x->key, &y->key, sizeof(x->key));
}

static int take_rows(const struct grown_flow *flows, size_t count, flow_minutes_fn *fn, void *context)
{
	struct map rest = MAP_INIT(sizeof(struct flow_minutes_key), sizeof(struct flow_total), TOTALS_MAX);
	const void *key;
	void *value;
	size_t at = 0;
	int r = 0;

	for (size_t i = 0; i < count; i++) {
		struct flow_minutes_key sum = rest_of(&flows[i].key);

		if (i >= FLOW_MINUTES_MAX)
			add_to(&rest, &sum, &flows[i].total);
		else if (r == 0)
			r = fn(context, &flows[i].key, &flows[i].total);
	}
	while (map_next(&rest, &at, &key, &value))
		r = r < 0 ? r : fn(context, key, value);
	map_done(&rest);
	return r;
}

int flow_minutes_take(struct flow_minutes *minutes, flow_minutes_fn *fn, void *context)
{
	VEC(struct grown_flow) flows = {};
	const void *key;
	void *value;
	size_t at = 0;
	int r;

	while (map_next(&minutes->grown, &at, &key, &value))
		vec_push(&flows,
			 ((struct grown_flow){*(const struct flow_minutes_key *)key, *(struct flow_total *)value}));
	map_done(&minutes->grown);
	minutes->grown = MAP_INIT(sizeof(struct flow_minutes_key), sizeof(struct flow_total), TOTALS_MAX);
	if (flows.count)
		qsort(flows.items, flows.count, sizeof(*flows.items), largest_first);
	r = take_rows(flows.items, flows.count, fn, context);
	vec_done(&flows);
	return r;
}
