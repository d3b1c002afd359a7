/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Figures of single sessions: which sessions have a slot, and the table of their cells. */
#include "flow/analyse/profile.h"

static void give_slot(struct profile_cells *cells, uint32_t index)
{
	if (cells->slots >= PROFILE_SLOTS || cells->slot_of.items[index] != DEMUX_NONE)
		return;
	cells->session_of[cells->slots] = index;
	cells->slot_of.items[index] = cells->slots++;
}

/* Of one group, or of all sessions: every N-th, so that `room` suffices. */
static void give_group_slots(struct profile_cells *cells, const struct profile_view *view, int group, uint32_t room)
{
	size_t count = 0, at = 0, all = view->sessions->list.count;

	for (size_t i = 0; i < all; i++)
		count += group < 0 || view->group_of[i] == group;
	for (size_t i = 0; i < all && count; i++) {
		if (group >= 0 && view->group_of[i] != group)
			continue;
		if (at++ % ((count + room - 1) / max_of(room, 1u)) == 0)
			give_slot(cells, (uint32_t)i);
	}
}

struct long_session {
	uint64_t ticks;
	uint32_t index;
};

static int longest_first(const void *a, const void *b)
{
	const struct long_session *one = a, *other = b;

	if (one->ticks != other->ticks)
		return one->ticks > other->ticks ? -1 : 1;
	return one->index < other->index ? -1 : one->index > other->index;
}

/* Among very many sessions, few that differ would be missed by chance: those that took longest always have a slot. */
static void give_long_slots(struct profile_cells *cells, const struct flow_sessions *s, bool is_busy)
{
	SPILL(struct long_session) all = {};

	for (size_t i = 0; i < s->list.count; i++) {
		const struct flow_row *row = &s->list.items[i];

		spill_push(&all, (struct long_session){is_busy ? row->busy_ticks : row->end_ticks - row->start_ticks,
						       (uint32_t)i});
		spill_trim_at(i);
	}
	spill_sort(all.items, all.count, sizeof(*all.items), longest_first);
	for (size_t i = 0; i < min_of(all.count, (size_t)PROFILE_SLOTS / 8); i++)
		give_slot(cells, all.items[i].index);
	spill_done(&all);
}

static int by_index(const void *a, const void *b)
{
	const uint32_t *one = a, *other = b;

	return *one < *other ? -1 : *one > *other;
}

static void give_slots(struct profile_cells *cells, const struct profile_view *view)
{
	size_t count = view->sessions->list.count;

	cells->session_of = xzalloc((size_t)PROFILE_SLOTS * sizeof(*cells->session_of));
	for (size_t i = 0; i < count; i++) {
		spill_push(&cells->slot_of, DEMUX_NONE);
		spill_trim_at(i);
	}
	if (view->group_of) {
		give_group_slots(cells, view, 1, PROFILE_SLOTS / 2);
		give_group_slots(cells, view, 0, PROFILE_SLOTS - cells->slots);
	} else {
		if (count > PROFILE_SLOTS) {
			give_long_slots(cells, view->sessions, true);
			give_long_slots(cells, view->sessions, false);
		}
		give_group_slots(cells, view, -1, PROFILE_SLOTS - cells->slots);
	}
	/* In order of time. */
	qsort(cells->session_of, cells->slots, sizeof(*cells->session_of), by_index);
	for (uint32_t i = 0; i < cells->slots; i++)
		cells->slot_of.items[cells->session_of[i]] = i;
}

static int by_place_and_slot(const void *a, const void *b)
{
	const struct profile_cell *one = a, *other = b;

	if (one->place != other->place)
		return one->place < other->place ? -1 : 1;
	return one->slot < other->slot ? -1 : one->slot > other->slot;
}

static void join_cells(struct profile_cells *cells)
{
	struct profile_cell *items = cells->list.items;
	size_t kept = 0;

	spill_sort(items, cells->list.count, sizeof(*items), by_place_and_slot);
	for (size_t i = 0; i < cells->list.count; i++) {
		if (kept && items[kept - 1].place == items[i].place && items[kept - 1].slot == items[i].slot) {
			items[kept - 1].calls += items[i].calls;
			items[kept - 1].has_others |= items[i].has_others;
			items[kept - 1].delay_ticks += items[i].delay_ticks;
			items[kept - 1].late_ticks += items[i].late_ticks;
			for (unsigned k = 0; k < PROFILE_TIMES; k++)
				items[kept - 1].ticks[k] += items[i].ticks[k];
		} else {
			items[kept++] = items[i];
		}
		spill_trim_at(i);
	}
	cells->list.count = kept;
}

/* Properties of places from their cells and those below. */
static void index_cells(struct profile_cells *cells, const struct profile *profile)
{
	size_t at = 0;

	cells->first = xzalloc((cells->place_count + 1) * sizeof(*cells->first));
	cells->has_client = xzalloc(cells->place_count);
	for (size_t place = 0; place < cells->place_count; place++) {
		cells->first[place] = at;
		while (at < cells->list.count && cells->list.items[at].place == place)
			spill_trim_at(at++);
	}
	cells->first[cells->place_count] = at;
	for (size_t i = profile->places.count; i-- > 1;) {
		cells->has_client[i] |= cells->is_client[i];
		cells->has_client[profile->places.items[i].parent] |= cells->has_client[i];
	}
}

void profile_cells_begin(struct profile_cells *cells, const struct profile_view *view)
{
	*cells = (struct profile_cells){};
	give_slots(cells, view);
	cells->reads = xzalloc((cells->slots + 1) * sizeof(*cells->reads));
	cells->answers = xzalloc((cells->slots + 1) * sizeof(*cells->answers));
	cells->wrote_in = xzalloc((cells->slots + 1) * sizeof(*cells->wrote_in));
	spill_fill(&cells->delays.of, view->sessions->list.count + 1);
	spill_fill(&cells->delays.cpu, view->sessions->list.count + 1);
	spill_fill(&cells->own_ticks, view->sessions->list.count);
}

void profile_cells_end(struct profile_cells *cells, const struct profile *profile)
{
	join_cells(cells);
	index_cells(cells, profile);
}

void profile_cells_done(struct profile_cells *cells)
{
	spill_done(&cells->list);
	spill_done(&cells->own_ticks);
	spill_done(&cells->slot_of);
	free(cells->session_of);
	profile_delays_done(&cells->delays);
	free(cells->reads);
	free(cells->answers);
	free(cells->wrote_in);
	free(cells->is_client);
	free(cells->has_client);
	free(cells->is_push);
	free(cells->is_upstream);
	free(cells->first);
	*cells = (struct profile_cells){};
}
