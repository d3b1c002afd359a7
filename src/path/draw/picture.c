/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>

#include "path/draw/picture.h"
#include "view/format.h"
#include "view/hist.h"

#define ROWS_LEAST 8u

void path_heat_add(struct heat *heat, const struct journey *journey)
{
	for (uint32_t i = 0; i < journey->stage_count; i++)
		if (journey->stages[i].stage < PATH_STAGES)
			heat_add(heat, path_layer(journey->dir, journey->stages[i].stage), journey->stages[i].start_ns,
				 journey->stages[i].ns);
}

static bool has_row(const struct heat *heat, unsigned layer, unsigned row)
{
	for (unsigned column = 0; column < heat_columns(heat); column++)
		if (heat_get(heat, layer, column, row))
			return true;
	return false;
}

bool path_map_get(const struct heat *heat, unsigned number, struct path_map *ret_map)
{
	uint8_t dir = number < PATH_ORDER_COUNT ? PACKET_RX : PACKET_TX;
	struct path_map map = {.layer = path_layer(dir, path_order(dir)[number % PATH_ORDER_COUNT])};

	map.zero = has_row(heat, map.layer, 0);
	for (unsigned row = 1; row < HEAT_ROWS; row++)
		if (has_row(heat, map.layer, row)) {
			map.low = map.low ?: row;
			map.high = row;
		}
	/* At least ROWS_LEAST rows: small differences must not fill the map. */
	if (map.low && map.high - map.low + 1 < ROWS_LEAST) {
		map.high = min_of(map.low + ROWS_LEAST - 1, HEAT_ROWS - 1u);
		map.low = map.high - ROWS_LEAST + 1;
	}
	*ret_map = map;
	return map.zero || map.low;
}

unsigned path_map_rows(const struct path_map *map)
{
	return map->zero + (map->low ? map->high - map->low + 1 : 0);
}

unsigned path_map_place(const struct path_map *map, unsigned row)
{
	if (row == 0)
		return map->zero ? 0 : PATH_NO_ROW;
	return map->low && row >= map->low && row <= map->high ? map->zero + row - map->low : PATH_NO_ROW;
}

void path_map_add_name(struct buf *out, const struct path_map *map)
{
	buf_add_format(out, "%s %s", map->layer >= PATH_STAGES ? "tx" : "rx",
		       path_stages[map->layer % PATH_STAGES].name);
}

void path_map_add_low(struct buf *out, const struct path_map *map)
{
	if (map->zero)
		buf_add_text(out, map->low ? "0, " : "0");
	if (map->low)
		format_add_duration(out, (int64_t)heat_row_first(map->low));
}

void path_map_add_high(struct buf *out, const struct path_map *map)
{
	if (map->low)
		format_add_duration(out, (int64_t)hist_log2_slot(map->high).hi + 1);
}

void picture_add_heading(struct buf *out, const struct path_picture *picture)
{
	uint64_t drawn = picture->slowest->journeys.count;

	if (drawn < picture->journeys)
		buf_add_format(out, "The slowest %" PRIu64 " of %" PRIu64 " journeys", drawn, picture->journeys);
	else
		buf_add_text(out, drawn == 1 ? "The journey" : "All journeys, slowest first");
}
