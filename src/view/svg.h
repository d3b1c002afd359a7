/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plots as SVG inside a page. Colours come from the page's style: classes s1, s2 ... for series, axis and grid. */
#pragma once

#include "base/buf.h"
#include "record/field.h"

#define SVG_WIDTH 900
#define SVG_LEFT  72 /* where the plot begins; the same for all, so that times stand below each other */

/* Between two ticks of an axis: 1, 2 or 5 and zeros, not less than this. */
double svg_round_step(double least);

struct svg_series {
	const char *name;
	const double *values; /* one for each time; NaN: unknown */
};

struct svg_times {
	const uint64_t *ns;
	size_t count;
	uint64_t begin_ns, end_ns;
};

/* Lines over time; values are shown as sizes, durations or numbers, by the field's kind; with a unit, as rates. */
void svg_add_lines(struct buf *out, const struct svg_times *times, const struct svg_series *series, size_t count,
		   const struct field *like);

/* A bar for something that lasted. */
struct svg_bar {
	uint64_t begin_ns, end_ns;
	const char *label;
	const char *title; /* shown when pointed at */
	unsigned series;   /* colour */
};

void svg_add_bars(struct buf *out, const struct svg_times *times, const struct svg_bar *bars, size_t count);

/* Slots of a histogram as columns. */
void svg_add_hist(struct buf *out, const struct list *slots, const struct field *like);
