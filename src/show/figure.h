/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Figures of the whole host over time: traffic, retransmissions, drops, RTT, CPU. A figure registers itself; the screen
 * and the page show it.
 */
#pragma once

#include "base/vec.h"
#include "snapshot/core/snapshot.h"

struct figure_history;

struct figure {
	const char *name;
	const char *title;
	const char *unit; /* "B/s", "/s", "B", "ns", "1" of a share, "" of a number */
	const char *help;
	unsigned order;
	const struct record_type *const *types;
	/* One of these. A running total, whose rate per second is the figure; UINT64_MAX: not known. */
	uint64_t (*total)(const struct snapshot *snapshot);
	/* The figure itself; NaN: not known. */
	double (*value)(const struct snapshot *snapshot);
	/* Running totals by name (drops by reason), each for figure_history_part: a name is a figure from then on. */
	void (*parts)(const struct figure *figure, const struct snapshot *snapshot, struct figure_history *history);
	double scale; /* of the rate; 0: 1 */
};

REGISTRY(figure, struct figure);

#define FIGURE(object) REGISTER(figure, struct figure, object)

extern const struct figure figure_rx, figure_tx, figure_loopback, figure_retransmits, figure_drops,
	figure_new_connections;

#define FIGURES_MAX 32
#define PARTS_MAX   12 /* of all figures; names beyond them are added up as "other" */

/* A figure that has appeared: "drop.NO_SOCKET". */
struct figure_part {
	struct figure figure;
	char name[64];
};

/*
 * All figures over time, in bounded memory: when it is full, two neighbours become one, and from then on half as many
 * are added.
 */
struct figure_history {
	unsigned count, part_count;
	const struct figure *figures[FIGURES_MAX]; /* in order, parts behind them as they appear */
	struct figure_part parts[PARTS_MAX];
	uint64_t before[FIGURES_MAX]; /* totals of the last sample that was added */
	uint64_t now[FIGURES_MAX];    /* of parts: totals of this one */
	uint64_t boot_ns;             /* its time since boot */
	uint64_t spacing_ns;          /* between two samples, at least */
	VEC(uint64_t) times_ns;       /* of the samples, CLOCK_REALTIME */
	VEC(double) values;           /* FIGURES_MAX per sample */
};

void figure_history_init(struct figure_history *history);
void figure_history_done(struct figure_history *history);
/* The next sample; true: it was added, and is the last one. */
bool figure_history_add(struct figure_history *history, const struct snapshot *snapshot);
/* For figure.parts: so much of the total is of that name. */
void figure_history_part(struct figure_history *history, const struct figure *whole, const char *name, uint64_t total);
/* The figure of that name: its index, or -ENOENT. */
int figure_history_find(const struct figure_history *history, const char *name) _must_check_;
/* Means of steps of step_ns from from_ns on; NaN where there is no sample. */
void figure_history_read(const struct figure_history *history, unsigned index, uint64_t from_ns, uint64_t step_ns,
			 double *values, size_t count);
