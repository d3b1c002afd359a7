/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A series of figures over time in one line or several: ▁▂▅█. Unknown is a blank, never a bar of height zero. */
#pragma once

#include "top/draw/canvas.h"

/* The last values of a figure, NaN where it was not known. */
#define SERIES_MAX 512

struct series {
	double values[SERIES_MAX];
	unsigned next;
	unsigned count;
};

void series_add(struct series *series, double value);
/* The value `back` steps before the last one; NaN: none. */
double series_at(const struct series *series, unsigned back);
double series_max(const struct series *series, unsigned last);
/* Draws the last values, the newest on the right; the scale is their maximum, or `full` if that is larger. */
void spark_draw(struct canvas *canvas, const struct area *area, enum ink ink, const struct series *series, double full);
/* A share (0 to 1) as a bar. */
void spark_bar(struct canvas *canvas, unsigned x, unsigned y, unsigned width, enum ink ink, double share);
