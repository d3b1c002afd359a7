/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A flame graph: the width of a box is its value, callers are below. Differential when there is a second value: the
 * width is the first value, the colour shows how much larger (red) or smaller (blue) it is than the second.
 */
#pragma once

#include "base/out.h"
#include "base/vec.h"

struct flame_box {
	uint32_t parent; /* index of a box before it; itself: none */
	const char *name;
	uint64_t value;  /* including the boxes above it */
	uint64_t before; /* second value, in the same unit */
	uint64_t count;
};

struct flame {
	const char *title;
	const char *note;
	bool is_time; /* values are nanoseconds */
	bool is_difference;
	VEC(struct flame_box) boxes; /* parents first */
};

void flame_done(struct flame *flame);
void flame_write_svg(const struct flame *flame, struct out *out);
/* Plain, with the SVG picture, in a program without components of pages (page.h). */
void flame_write_html(const struct flame *flame, struct out *out);
void flame_write_json(const struct flame *flame, struct out *out);
