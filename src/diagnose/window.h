/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One window of observation: several snapshots go in, a graph of modules with their measures comes out. Each family of
 * measures is a file of its own that registers a measurer; pure functions of snapshots, no look at the live kernel.
 */
#pragma once

#include "diagnose/module.h"
#include "snapshot/snapshot.h"

/* In which order measurers finish: later ones lean on the modules of earlier ones; the host is related to all. */
enum measure_stage { MEASURE_CONN, MEASURE_APP, MEASURE_PATH, MEASURE_HOST };

struct window {
	unsigned samples;  /* snapshots so far in this window */
	uint64_t start_ns; /* CLOCK_REALTIME of the first one */
	uint64_t start_boot_ns;
	uint64_t span_ns; /* from the first snapshot to the last */
	uint32_t netns;   /* set by whoever takes the snapshots */
	uint64_t lost;
	unsigned number; /* of the window, from 0 */
	struct measurer_state *states;
};

struct measurer {
	const char *name;
	enum measure_stage stage;
	const struct record_type *const *needs; /* tables of the snapshot, NULL at the end */
	size_t state_size;                      /* zeroed; stays from window to window */
	void (*sample)(struct window *window, void *state, const struct snapshot *snapshot);
	void (*finish)(struct window *window, void *state, struct graph *graph);
	void (*release)(void *state);
};

REGISTRY(measurer, struct measurer);

#define MEASURER(object) REGISTER(measurer, struct measurer, object)

struct window *window_new(void);
void window_free(struct window *window);
static inline void window_freep(struct window **window)
{
	window_free(*window);
}

/* All record types that some measurer needs; NULL at the end, to be freed. */
const struct record_type **window_needs(void);
void window_add(struct window *window, const struct snapshot *snapshot);
/* Closes the window; the next one begins with the last snapshot's counters as its base. */
struct graph *window_finish(struct window *window);
