/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "diagnose/graph/window.h"

struct measurer_state {
	const struct measurer *measurer;
	void *state;
};

static int by_stage(const void *a, const void *b)
{
	const struct measurer *x = ((const struct measurer_state *)a)->measurer,
			      *y = ((const struct measurer_state *)b)->measurer;

	return x->stage != y->stage ? (int)x->stage - (int)y->stage : strcmp(x->name, y->name);
}

static size_t measurer_count(void)
{
	return (size_t)(__stop_nest_measurer - __start_nest_measurer);
}

static void *new_state(const struct measurer *measurer)
{
	void *state = xzalloc(measurer->state_size);

	if (measurer->initial)
		memcpy(state, measurer->initial, measurer->state_size);
	return state;
}

struct window *window_new(void)
{
	struct window *window = xzalloc(sizeof(*window));
	size_t count = 0;

	window->states = xrealloc_array(NULL, measurer_count(), sizeof(*window->states));
	registry_each(measurer, measurer)
		window->states[count++] = (struct measurer_state){*measurer, new_state(*measurer)};
	qsort(window->states, count, sizeof(*window->states), by_stage);
	return window;
}

void window_free(struct window *window)
{
	if (!window)
		return;
	for (size_t i = 0; i < measurer_count(); i++) {
		struct measurer_state *state = &window->states[i];

		if (state->measurer->release)
			state->measurer->release(state->state);
		free(state->state);
	}
	free(window->states);
	free(window);
}

struct type_list {
	VEC(const struct record_type *) items;
};

static void add_types(struct type_list *list, const struct record_type *const *type)
{
	for (; type && *type; type++) {
		bool known = false;

		vec_each(&list->items, other)
			known = known || *other == *type;
		if (!known)
			vec_push(&list->items, *type);
	}
}

const struct record_type **window_needs(const struct record_type *const *more)
{
	struct type_list list = {};

	registry_each(measurer, measurer)
		add_types(&list, (*measurer)->needs);
	add_types(&list, more);
	vec_push(&list.items, NULL);
	return list.items.items;
}

void window_add(struct window *window, const struct snapshot *snapshot)
{
	if (window->samples == 0) {
		window->start_ns = snapshot->begin_time_ns;
		window->start_boot_ns = snapshot->begin_boot_ns;
		window->before_ns = window->last_ns ? snapshot->begin_boot_ns - window->last_ns : 0;
	}
	window->last_ns = snapshot->begin_boot_ns;
	window->span_ns = snapshot->begin_boot_ns - window->start_boot_ns;
	window->lost += snapshot_refused(snapshot);
	window->samples++;
	for (size_t i = 0; i < measurer_count(); i++)
		if (window->states[i].measurer->sample)
			window->states[i].measurer->sample(window, window->states[i].state, snapshot);
}

struct graph *window_finish(struct window *window)
{
	struct graph *graph = graph_new();

	/* Of a single snapshot, the time since the one before. */
	if (window->samples == 1) {
		window->span_ns = window->before_ns;
		window->start_ns -= min_of(window->before_ns, window->start_ns);
		window->start_boot_ns -= min_of(window->before_ns, window->start_boot_ns);
	}
	graph->start_ns = window->start_ns;
	graph->window_ns = window->span_ns;
	graph->netns = window->netns;
	graph->lost = window->lost;
	for (size_t i = 0; i < measurer_count(); i++)
		window->states[i].measurer->finish(window, window->states[i].state, graph);
	window->samples = 0;
	window->lost = 0;
	window->number++;
	return graph;
}

void *track_next(const struct window *window, const struct map *tracks, size_t *at)
{
	const void *key;
	void *value;

	while (map_next(tracks, at, &key, &value))
		if (track_is_current(window, value))
			return value;
	return NULL;
}

void track_forget(const struct window *window, struct map *tracks, void (*release)(void *track))
{
	VEC(uint8_t) keys = {};
	const void *key;
	size_t at = 0;
	void *value;

	while (map_next(tracks, &at, &key, &value)) {
		if (track_is_current(window, value))
			continue;
		if (release)
			release(value);
		vec_reserve(&keys, keys.count + tracks->key_size);
		memcpy(keys.items + keys.count, key, tracks->key_size);
		keys.count += tracks->key_size;
	}
	for (size_t i = 0; i < keys.count; i += tracks->key_size)
		(void)map_remove(tracks, keys.items + i);
	vec_done(&keys);
}
