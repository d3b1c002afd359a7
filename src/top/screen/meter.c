/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "top/screen/meter.h"

#include <math.h>
#include <string.h>

#include "snapshot/core/delta.h"
#include "view/format.h"

#define NAME_WIDTH   11
#define FIGURE_WIDTH 12
#define COLUMN_MIN   38 /* two columns of meters from twice this width */
/* Lines of the page per row of a plot. */
#define LINES_PER_ROW 15
#define ROWS_MAX      3

static const struct meter rx_meter = {&figure_rx, "received", 1, INK_RX};
METER(rx_meter);
static const struct meter tx_meter = {&figure_tx, "sent", 2, INK_TX};
METER(tx_meter);
static const struct meter retransmit_meter = {&figure_retransmits, "retransmits", 3, INK_WARN};
METER(retransmit_meter);
static const struct meter drop_meter = {&figure_drops, "drops", 4, INK_BAD};
METER(drop_meter);
static const struct meter loopback_meter = {&figure_loopback, "loopback", 5, INK_TX};
METER(loopback_meter);
static const struct meter opened_meter = {&figure_new_connections, "new conns", 6, INK_RX};
METER(opened_meter);

/* --- over time --- */

static int by_order(const void *a, const void *b)
{
	const struct meter *x = *(const struct meter *const *)a, *y = *(const struct meter *const *)b;

	return x->order < y->order ? -1 : x->order > y->order;
}

void meters_init(struct meters *meters)
{
	memset(meters, 0, sizeof(*meters));
	registry_each(meter, meter)
		if (meters->count < METERS_MAX)
			meters->items[meters->count++] = *meter;
	qsort(meters->items, meters->count, sizeof(*meters->items), by_order);
}

void meters_add(struct meters *meters, const struct snapshot *snapshot)
{
	uint64_t now_ns = snapshot->begin_boot_ns;
	uint64_t span_ns = meters->time_ns && now_ns > meters->time_ns ? now_ns - meters->time_ns : 0;

	for (unsigned i = 0; i < meters->count; i++) {
		uint64_t total = meters->items[i]->figure->total(snapshot);

		if (span_ns)
			series_add(&meters->series[i], delta_rate(delta_between(meters->before[i], total), span_ns));
		meters->before[i] = total;
	}
	meters->time_ns = now_ns;
}

static unsigned columns_of(unsigned width)
{
	return width >= 2 * COLUMN_MIN ? 2 : 1;
}

/* Of the size of the terminal alone: nothing jumps when rows come and go. */
static unsigned rows_of(unsigned height)
{
	return min_of(max_of(height / LINES_PER_ROW, 1U), (unsigned)ROWS_MAX);
}

unsigned meters_height(const struct meters *meters, const struct area *area)
{
	unsigned columns = columns_of(area->width);

	return (meters->count + columns - 1) / columns * rows_of(area->height);
}

static void add_figure(const struct meter *meter, double value, struct buf *out)
{
	const struct field field = {.name = "rate",
				    .kind = KIND_RATIO,
				    .store = STORE_DOUBLE,
				    .unit = meter->figure->unit,
				    .as_bits = strcmp(meter->figure->unit, "B/s") == 0};
	struct value shown = {.class = isnan(value) ? VALUE_UNKNOWN : VALUE_REAL, .real = value};

	format_add_value(out, &field, &shown);
}

void meters_draw(const struct meters *meters, struct canvas *canvas, const struct area *area)
{
	unsigned columns = columns_of(area->width), width = area->width / columns, rows = rows_of(area->height);

	for (unsigned i = 0; i < meters->count; i++) {
		unsigned x = area->x + i % columns * width, y = area->y + i / columns * rows;
		_cleanup_buf_ struct buf figure = BUF_INIT(64);
		double last = series_at(&meters->series[i], 0);

		if (y + rows > area->y + area->height)
			break;
		add_figure(meters->items[i], last, &figure);
		canvas_text(canvas, x + 1, y, NAME_WIDTH, INK_DIM, meters->items[i]->name);
		canvas_put_right(canvas, x + 1 + NAME_WIDTH, y, FIGURE_WIDTH,
				 last > 0 ? meters->items[i]->ink : INK_DIM, figure.data, figure.len);
		if (width > NAME_WIDTH + FIGURE_WIDTH + 4)
			spark_draw(canvas,
				   &(struct area){x + NAME_WIDTH + FIGURE_WIDTH + 2, y,
						  width - NAME_WIDTH - FIGURE_WIDTH - 4, rows},
				   meters->items[i]->ink, &meters->series[i], 0);
	}
}
