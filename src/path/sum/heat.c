/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "path/sum/heat.h"
#include "base/alloc.h"
#include "view/hist.h"

void heat_done(struct heat *heat)
{
	free(heat->cells);
	*heat = (struct heat){};
}

unsigned heat_row(uint64_t value)
{
	return min_of(hist_log2_index(value), HEAT_ROWS - 1u);
}

uint64_t heat_row_first(unsigned row)
{
	return hist_log2_slot(row).lo;
}

static size_t cell_count(const struct heat *heat)
{
	return (size_t)heat->layers * HEAT_COLUMNS;
}

/* Re-bins into columns that start at another number and are wider by a power of two. */
static void rearrange(struct heat *heat, uint64_t first, unsigned shift)
{
	uint32_t(*cells)[HEAT_ROWS] = xzalloc(cell_count(heat) * sizeof(*cells));
	unsigned longer = shift - heat->shift;

	for (unsigned layer = 0; layer < heat->layers; layer++)
		for (uint64_t at = heat->first; at <= heat->last; at++) {
			size_t from = layer * HEAT_COLUMNS + (at - heat->first);
			size_t to = layer * HEAT_COLUMNS + ((at >> longer) - first);

			for (unsigned row = 0; row < HEAT_ROWS; row++)
				cells[to][row] += heat->cells[from][row];
		}
	free(heat->cells);
	heat->cells = cells;
	heat->last >>= longer;
	heat->first = first;
	heat->shift = shift;
}

/* Makes room for the time and returns its column. */
static unsigned column_of(struct heat *heat, uint64_t time_ns)
{
	unsigned shift = heat->shift;
	uint64_t at = time_ns >> shift, first, last;

	if (!heat->cells) {
		heat->cells = xzalloc(cell_count(heat) * sizeof(*heat->cells));
		heat->first = heat->last = at;
	}
	first = min_of(heat->first, at);
	last = max_of(heat->last, at);
	while (last - first >= HEAT_COLUMNS) {
		first >>= 1;
		last >>= 1;
		shift++;
	}
	if (first != heat->first || shift != heat->shift)
		rearrange(heat, first, shift);
	heat->last = last;
	return (unsigned)((time_ns >> shift) - first);
}

void heat_add(struct heat *heat, unsigned layer, uint64_t time_ns, uint64_t value)
{
	unsigned column = column_of(heat, time_ns);

	heat->cells[layer * HEAT_COLUMNS + column][heat_row(value)]++;
	heat->count++;
}

unsigned heat_columns(const struct heat *heat)
{
	return heat->cells ? (unsigned)(heat->last - heat->first) + 1 : 0;
}

uint32_t heat_get(const struct heat *heat, unsigned layer, unsigned column, unsigned row)
{
	return heat->cells[layer * HEAT_COLUMNS + column][row];
}

uint32_t heat_most(const struct heat *heat, unsigned layer)
{
	uint32_t most = 0;

	for (unsigned column = 0; column < heat_columns(heat); column++)
		for (unsigned row = 0; row < HEAT_ROWS; row++)
			most = max_of(most, heat_get(heat, layer, column, row));
	return most;
}
