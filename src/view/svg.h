/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SVG plots inside a page. The page's style sets the colours: classes s1, s2 ... for series, axis and grid. */
#pragma once

#include "base/buf.h"
#include "record/field.h"

#define SVG_WIDTH 900
#define SVG_LEFT  72 /* left edge; the same for all plots, so that times line up */

/* Distance of two ticks: 1, 2 or 5 times a power of ten, at least this. */
double svg_round_step(double least);

struct svg_series {
	const char *name;
	const double *values; /* one per time; NaN: unknown */
};

struct svg_times {
	const uint64_t *ns;
	size_t count;
	uint64_t begin_ns, end_ns;
};

/* Lines over time; the field's kind selects sizes, durations or numbers; with a unit, rates. */
void svg_add_lines(struct buf *out, const struct svg_times *times, const struct svg_series *series, size_t count,
		   const struct field *like);

/* A bar for a period of time. */
struct svg_bar {
	uint64_t begin_ns, end_ns;
	const char *label;
	const char *title; /* tooltip */
	unsigned series;   /* colour */
};

void svg_add_bars(struct buf *out, const struct svg_times *times, const struct svg_bar *bars, size_t count);

/* Slots of a histogram as columns. */
void svg_add_hist(struct buf *out, const struct list *slots, const struct field *like);
