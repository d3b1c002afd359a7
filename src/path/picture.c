/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "path/picture.h"

#define ROWS_LEAST 8u

void path_heat_add(struct heat *heat, const struct journey *journey)
{
	for (uint32_t i = 0; i < journey->stage_count; i++)
		if (journey->stages[i].stage < PATH_STAGES)
			heat_add(heat, path_layer(journey->dir, journey->stages[i].stage), journey->stages[i].start_ns,
				 journey->stages[i].ns);
}

void path_layer_add_name(struct buf *out, unsigned layer)
{
	buf_add_format(out, "%s %s", layer >= PATH_STAGES ? "tx" : "rx", path_stages[layer % PATH_STAGES].name);
}

bool path_layer_rows(const struct heat *heat, unsigned layer, unsigned *ret_low, unsigned *ret_high)
{
	bool any = false;

	for (unsigned row = 0; row < HEAT_ROWS; row++)
		for (unsigned column = 0; column < heat_columns(heat); column++) {
			if (heat_get(heat, layer, column, row) == 0)
				continue;
			if (!any)
				*ret_low = row;
			*ret_high = row;
			any = true;
			break;
		}
	/* Neighbours that differ little must not fill the map. */
	if (any && *ret_high - *ret_low + 1 < ROWS_LEAST) {
		*ret_high = min_of(*ret_low + ROWS_LEAST - 1, HEAT_ROWS - 1u);
		*ret_low = *ret_high - ROWS_LEAST + 1;
	}
	return any;
}
