/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pictures of a run: waterfalls of the slowest journeys, stage figures, a heat map of each stage over time. */
#pragma once

#include <limits.h>

#include "base/out.h"
#include "path/sum/heat.h"
#include "path/sum/slowest.h"
#include "path/sum/summary.h"

struct path_picture {
	const struct slowest *slowest;
	const struct summary *summary;
	const struct heat *heat; /* one layer per stage and direction */
	const char *note;        /* scope of the run and losses; free text */
	uint64_t journeys;       /* total; only the slowest are drawn */
};

/* Layers of the heat maps. */
#define PATH_LAYERS (2u * PATH_STAGES)

static inline unsigned path_layer(uint8_t dir, uint8_t stage)
{
	return (dir == PACKET_TX ? PATH_STAGES : 0) + stage;
}

/* Adds all stages of the journey. */
void path_heat_add(struct heat *heat, const struct journey *journey);

/* Heat map of a stage: the non-empty rows of its layer, at least a few. Zero has its own row at the bottom. */
struct path_map {
	unsigned layer;
	unsigned low, high;
	bool zero;
};

#define PATH_MAPS (2u * PATH_ORDER_COUNT)
/* Maps are numbered in path order; false when the map is empty. */
bool path_map_get(const struct heat *heat, unsigned number, struct path_map *ret_map);
unsigned path_map_rows(const struct path_map *map);
/* Position of a layer's row, counted from the bottom; PATH_NO_ROW: outside the map. */
unsigned path_map_place(const struct path_map *map, unsigned row);
#define PATH_NO_ROW UINT_MAX
/* "rx sched" */
void path_map_add_name(struct buf *out, const struct path_map *map);
/* "0, 2.05us": lower end of the rows. */
void path_map_add_low(struct buf *out, const struct path_map *map);
void path_map_add_high(struct buf *out, const struct path_map *map);

/* "the slowest 10 of 240 journeys" */
void picture_add_heading(struct buf *out, const struct path_picture *picture);

void picture_write_svg(const struct path_picture *picture, struct out *out);
/* Plain, with the SVG picture, in a program without components of pages (view/page.h). */
void picture_write_page(const struct path_picture *picture, struct out *out);
void picture_write_json(const struct path_picture *picture, struct out *out);
