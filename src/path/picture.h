/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pictures of a run: waterfalls of its slowest journeys, its stages, a heat map of each stage over time. */
#pragma once

#include "base/out.h"
#include "path/heat.h"
#include "path/slowest.h"
#include "path/summary.h"

struct path_picture {
	const struct slowest *slowest;
	const struct summary *summary;
	const struct heat *heat; /* a layer for each stage of each direction */
	const char *note;        /* what was looked at, and what was lost; any text */
};

/* Layers of the heat maps. */
#define PATH_LAYERS (2u * PATH_STAGES)

static inline unsigned path_layer(uint8_t dir, uint8_t stage)
{
	return (dir == PACKET_TX ? PATH_STAGES : 0) + stage;
}

/* Adds every stage of the journey. */
void path_heat_add(struct heat *heat, const struct journey *journey);
/* "rx sched": whose layer it is. */
void path_layer_add_name(struct buf *out, unsigned layer);
/* Rows of a layer that are drawn: those in which there is something, and a few more; false when there is nothing at all. */
bool path_layer_rows(const struct heat *heat, unsigned layer, unsigned *ret_low, unsigned *ret_high);

void picture_write_svg(const struct path_picture *picture, struct out *out);
void picture_write_page(const struct path_picture *picture, struct out *out);
