/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "top/draw/spark.h"

#include <math.h>

static const char *const steps[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
static const char *const plain_steps[] = {".", ".", "-", "-", "=", "=", "#", "#"};
static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};

void series_add(struct series *series, double value)
{
	series->values[series->next] = value;
	series->next = (series->next + 1) % SERIES_MAX;
	series->count = min_of(series->count + 1, SERIES_MAX);
}

double series_at(const struct series *series, unsigned back)
{
	if (back >= series->count)
		return NAN;
	return series->values[(series->next + SERIES_MAX - 1 - back) % SERIES_MAX];
}

double series_max(const struct series *series, unsigned last)
{
	double most = 0;

	for (unsigned i = 0; i < last && i < series->count; i++)
		if (series_at(series, i) > most)
			most = series_at(series, i);
	return most;
}

void spark_draw(struct canvas *canvas, const struct area *area, enum ink ink, const struct series *series, double full)
{
	double most = fmax(series_max(series, area->width), full);

	for (unsigned i = 0; i < area->width; i++) {
		double value = series_at(series, area->width - 1 - i);
		unsigned top = area->height * 8 - 1, level;

		if (isnan(value))
			continue;
		level = most > 0 && value > 0 ? (unsigned)fmin(value / most * (top + 1), top) : 0;
		/* From the lowest row up; the lowest one is never empty. */
		for (unsigned row = 0; row <= level / 8; row++) {
			unsigned step = row < level / 8 ? 7 : level % 8;

			canvas_text(canvas, area->x + i, area->y + area->height - 1 - row, 1, value > 0 ? ink : INK_DIM,
				    canvas->utf8 ? steps[step] : plain_steps[step]);
		}
	}
}

void spark_bar(struct canvas *canvas, unsigned x, unsigned y, unsigned width, enum ink ink, double share)
{
	unsigned parts = share > 0 ? (unsigned)lround(fmin(share, 1) * width * 8) : 0;

	for (unsigned i = 0; i < parts / 8; i++)
		canvas_text(canvas, x + i, y, 1, ink, canvas->utf8 ? "█" : "#");
	if (canvas->utf8 && parts % 8)
		canvas_text(canvas, x + parts / 8, y, 1, ink, eighths[parts % 8]);
}
