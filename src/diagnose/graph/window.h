/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One window of observation: several snapshots go in, a graph of modules with their measures comes out. Each family of
 * measures is one file that registers a measurer: pure functions of snapshots, without access to the live kernel.
 */
#pragma once

#include "diagnose/graph/module.h"
#include "diagnose/graph/usual.h"
#include "snapshot/core/snapshot.h"

/* The order in which measurers finish: later ones depend on modules of earlier ones; the host is related to all. */
enum measure_stage { MEASURE_CONN, MEASURE_APP, MEASURE_PATH, MEASURE_EGRESS, MEASURE_HOST };

struct window {
	unsigned samples;  /* snapshots so far in this window */
	uint64_t start_ns; /* CLOCK_REALTIME of the first one */
	uint64_t start_boot_ns;
	uint64_t span_ns;   /* from the first snapshot to the last; of a single one, from the one before */
	uint64_t last_ns;   /* the last snapshot, in time since boot; 0: none yet */
	uint64_t before_ns; /* from the last snapshot of the window before to the first; 0: there is none */
	uint32_t netns;     /* set by the caller, who takes the snapshots */
	uint64_t lost;
	const struct usual *usual; /* set by the caller: what is usual here; NULL: unknown */
	unsigned number;           /* of the window, from 0 */
	struct measurer_state *states;
};

struct measurer {
	const char *name;
	enum measure_stage stage;
	const struct record_type *const *needs; /* tables of the snapshot, NULL at the end */
	size_t state_size;                      /* stays from window to window */
	const void *initial;                    /* the state at the beginning; NULL: zeroed */
	void (*sample)(struct window *window, void *state, const struct snapshot *snapshot);
	void (*finish)(struct window *window, void *state, struct graph *graph);
	void (*release)(void *state);
};

REGISTRY(measurer, struct measurer);

#define MEASURER(object)    REGISTER(measurer, struct measurer, object)
#define MEASURER_NEEDS(...) ((const struct record_type *const[]){__VA_ARGS__, NULL})

/*
 * What a measurer keeps about a thing that it may see again begins with this. A track whose thing was not seen in a
 * window is forgotten at its end.
 */
struct track {
	unsigned window; /* the last one it was seen in, counted from 1; 0: never */
};

static inline bool track_is_current(const struct window *window, const struct track *track)
{
	return track->window == window->number + 1;
}

/* Marks it as seen; true the first time in a window. */
static inline bool track_see(const struct window *window, struct track *track)
{
	bool first = !track_is_current(window, track);

	track->window = window->number + 1;
	return first;
}

/* Of a map of tracks, the next that was seen in this window; NULL at the end. */
void *track_next(const struct window *window, const struct map *tracks, size_t *at);

#define track_each(window, tracks, type, name)                                                                         \
	for (size_t name##_at = 0; name##_at != SIZE_MAX; name##_at = SIZE_MAX)                                        \
		for (type * name; (name = track_next(window, tracks, &name##_at));)

/* Removes the tracks that were not seen in this window; release (may be NULL) frees what they hold. */
void track_forget(const struct window *window, struct map *tracks, void (*release)(void *track));

struct window *window_new(void);
void window_free(struct window *window);
static inline void window_freep(struct window **window)
{
	window_free(*window);
}

/* All record types that some measurer needs, and more (may be NULL); NULL at the end of each, to be freed. */
const struct record_type **window_needs(const struct record_type *const *more);
void window_add(struct window *window, const struct snapshot *snapshot);
/* Closes the window; the next one begins with the last snapshot's counters as its base. */
struct graph *window_finish(struct window *window);
