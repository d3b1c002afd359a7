/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The places of a profile, and what is added up over them. */
#include "flow/analyse/profile.h"

#define PLACES_MAX ((size_t)1 << 18)

uint32_t profile_place_find(const struct profile *profile, uint32_t parent, uint32_t fn)
{
	return pair_map_get(&profile->index, parent, fn);
}

/* Recursion returns to the open place of the function. */
static uint32_t open_place(const struct profile *profile, uint32_t parent, uint32_t fn)
{
	for (uint32_t at = parent; at; at = profile->places.items[at].parent)
		if (profile->places.items[at].fn == fn)
			return at;
	return 0;
}

static uint32_t make_place(struct profile *profile, uint32_t parent, uint32_t fn)
{
	uint32_t id = (uint32_t)profile->places.count;
	struct profile_place *place = vec_add(&profile->places), *up = &profile->places.items[parent];

	place->fn = fn;
	place->parent = parent;
	place->depth = up->depth + 1;
	if (up->last_child)
		profile->places.items[up->last_child].next = id;
	else
		up->first_child = id;
	up->last_child = id;
	return id;
}

uint32_t profile_place_at(struct profile *profile, uint32_t parent, uint32_t fn)
{
	uint32_t *slot, place = pair_map_get(&profile->index, parent, fn);

	if (likely(place))
		return place;
	if (profile->places.count >= PLACES_MAX) {
		profile->is_full = true;
		return parent;
	}
	slot = pair_map_at(&profile->index, parent, fn);
	place = open_place(profile, parent, fn);
	if (!place)
		place = make_place(profile, parent, fn);
	*slot = place;
	return place;
}

void *profile_grown(void *items, size_t old, size_t room, size_t size)
{
	char *more = xrealloc_array(items, room, size);

	memset(more + old * size, 0, (room - old) * size);
	return more;
}

void profile_make_room(struct profile *profile, size_t room)
{
	for (size_t i = 0; i < ARRAY_SIZE(profile->seen); i++)
		if (profile->seen[i])
			profile->seen[i] = profile_grown(profile->seen[i], profile->seen_room, room, sizeof(uint64_t));
	profile->seen_room = room;
}

static void merge_figures(struct profile_figures *into, const struct profile_figures *from, double scale)
{
	into->calls += from->calls;
	into->self_ticks += (uint64_t)((double)from->self_ticks * scale);
	into->wait_ticks += (uint64_t)((double)from->wait_ticks * scale);
	into->waits += from->waits;
	into->pause_ticks += (uint64_t)((double)from->pause_ticks * scale);
	into->max_ticks = max_of(into->max_ticks, (uint64_t)((double)from->max_ticks * scale));
}

static void merge_seen(struct profile *profile, const struct profile *other, const uint32_t *place_of)
{
	size_t room = profile->places.count;

	for (size_t k = 0; k < ARRAY_SIZE(profile->seen); k++)
		if (other->seen[k] && !profile->seen[k])
			profile->seen[k] = xzalloc(max_of(profile->seen_room, (size_t)1) * sizeof(uint64_t));
	if (room > profile->seen_room)
		profile_make_room(profile, room);
	for (size_t k = 0; k < ARRAY_SIZE(profile->seen); k++)
		for (size_t i = 1; other->seen[k] && i < other->places.count; i++)
			profile->seen[k][place_of[i]] |= other->seen[k][i];
}

void profile_order_room(struct profile *profile, size_t room)
{
	for (unsigned i = 0; i < 2 && room > profile->order_room; i++) {
		profile->order[i] = xrealloc_array(profile->order[i], room, sizeof(*profile->order[i]));
		memset(profile->order[i] + profile->order_room, 0xff,
		       (room - profile->order_room) * sizeof(*profile->order[i]));
	}
	profile->order_room = max_of(profile->order_room, room);
}

static void merge_order(struct profile *profile, const struct profile *other, const uint32_t *place_of)
{
	profile_order_room(profile, profile->places.count);
	for (unsigned g = 0; g < 2; g++)
		for (uint32_t i = 1; i < other->places.count; i++)
			profile->order[g][place_of[i]] =
				min_of(profile->order[g][place_of[i]], profile_order(other, g, i));
}

/* Each group has its bits from one of the two. */
static void merge_weights(struct profile *profile, const struct profile *other)
{
	if (!profile->weights && !other->weights)
		return;
	if (!profile->weights) {
		profile->weights = xzalloc((size_t)2 * PROFILE_SEEN * sizeof(*profile->weights));
		for (size_t i = 0; i < (size_t)2 * PROFILE_SEEN; i++)
			profile->weights[i] = 1;
	}
	for (size_t i = 0; i < (size_t)2 * PROFILE_SEEN; i++)
		if (other->looked_at[i / PROFILE_SEEN])
			profile->weights[i] = other->weights ? other->weights[i] : 1;
}

void profile_merge(struct profile *profile, const struct profile *other, const uint32_t *fn_of)
{
	_cleanup_free_ uint32_t *place_of = xzalloc(other->places.count * sizeof(*place_of));
	double scale = (double)other->trace->ns_per_tick / (double)profile->trace->ns_per_tick;

	/* Parents come before children. */
	for (size_t i = 1; i < other->places.count; i++) {
		const struct profile_place *from = &other->places.items[i];
		struct profile_place *into;

		place_of[i] = profile_place_at(profile, place_of[from->parent], fn_of[from->fn]);
		into = &profile->places.items[place_of[i]];
		into->is_dispatcher |= from->is_dispatcher;
		for (unsigned g = 0; g < PROFILE_GROUPS; g++)
			merge_figures(&into->group[g], &from->group[g], scale);
	}
	merge_seen(profile, other, place_of);
	if (profile->order[0])
		merge_order(profile, other, place_of);
	merge_weights(profile, other);
	for (unsigned g = 0; g < 2; g++)
		profile->looked_at[g] += other->looked_at[g];
}

uint32_t profile_seen(const struct profile *profile, uint32_t place, unsigned group)
{
	size_t first = (size_t)group * PROFILE_SEEN / 64;
	uint32_t count = 0;

	if (place >= profile->seen_room)
		return 0;
	for (size_t k = first; k < first + PROFILE_SEEN / 64 && profile->seen[k]; k++) {
		uint64_t bits = profile->seen[k][place];

		if (!profile->weights)
			count += (uint32_t)__builtin_popcountll(bits);
		for (; profile->weights && bits; bits &= bits - 1)
			count += profile->weights[k * 64 + (size_t)__builtin_ctzll(bits)];
	}
	return count;
}

void profile_init(struct profile *profile)
{
	pair_map_init(&profile->index);
	(void)vec_add(&profile->places);
}

void profile_delays_done(struct profile_delays *delays)
{
	spill_done(&delays->of);
	spill_done(&delays->cpu);
	spill_done(&delays->all);
}

void profile_done(struct profile *profile)
{
	vec_done(&profile->places);
	pair_map_done(&profile->index);
	for (size_t i = 0; i < ARRAY_SIZE(profile->seen); i++)
		free(profile->seen[i]);
	free(profile->weights);
	for (unsigned i = 0; i < 2; i++)
		free(profile->order[i]);
	spill_done(&profile->spent);
	profile_delays_done(&profile->delays);
}

void profile_free(struct profile *profile)
{
	if (!profile)
		return;
	profile_done(profile);
	free(profile);
}

void profile_sum(const struct profile *profile, struct profile_sums *ret_sums)
{
	size_t n = profile->places.count;

	for (unsigned g = 0; g < PROFILE_GROUPS; g++) {
		uint64_t *ticks = xzalloc(n * sizeof(*ticks)), *waits = xzalloc(n * sizeof(*waits));

		for (size_t i = n; i-- > 0;) {
			const struct profile_place *place = &profile->places.items[i];
			const struct profile_figures *f = &place->group[g];

			waits[i] += f->wait_ticks;
			/* A dispatcher's self time belongs to no session: only its calls for the group count. */
			ticks[i] += f->wait_ticks + f->self_ticks;
			if (i) {
				waits[place->parent] += waits[i];
				ticks[place->parent] += ticks[i];
			}
		}
		ret_sums->ticks[g] = ticks;
		ret_sums->waits[g] = waits;
	}
}

void profile_sums_done(struct profile_sums *sums)
{
	for (unsigned g = 0; g < PROFILE_GROUPS; g++) {
		free(sums->ticks[g]);
		free(sums->waits[g]);
	}
}
