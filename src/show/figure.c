/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "show/figure.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "snapshot/core/delta.h"

#define SAMPLES_MAX 14400 /* four hours of seconds */

static int by_order(const void *a, const void *b)
{
	const struct figure *x = *(const struct figure *const *)a, *y = *(const struct figure *const *)b;

	return x->order != y->order ? (x->order < y->order ? -1 : 1) : strcmp(x->name, y->name);
}

void figure_history_init(struct figure_history *history)
{
	*history = (struct figure_history){.spacing_ns = NSEC_PER_SEC};
	registry_each(figure, figure)
		if (!(*figure)->parts && history->count < FIGURES_MAX - PARTS_MAX)
			history->figures[history->count++] = *figure;
	qsort(history->figures, history->count, sizeof(*history->figures), by_order);
	for (unsigned i = 0; i < history->count; i++)
		history->before[i] = UINT64_MAX;
}

void figure_history_done(struct figure_history *history)
{
	vec_done(&history->times_ns);
	vec_done(&history->values);
}

/* Of two values, either of which may be unknown. */
static double mean_of_two(double a, double b)
{
	return isnan(a) ? b : isnan(b) ? a : (a + b) / 2;
}

static void halve(struct figure_history *history)
{
	size_t half = history->times_ns.count / 2;

	for (size_t i = 0; i < half; i++) {
		const double *pair = history->values.items + 2 * i * FIGURES_MAX;

		history->times_ns.items[i] = history->times_ns.items[2 * i + 1];
		for (unsigned k = 0; k < FIGURES_MAX; k++)
			history->values.items[i * FIGURES_MAX + k] = mean_of_two(pair[k], pair[FIGURES_MAX + k]);
	}
	history->times_ns.count = half;
	history->values.count = half * FIGURES_MAX;
	history->spacing_ns *= 2;
}

/* The slot of a name; the last one is of all names that found none. */
static unsigned find_part(struct figure_history *history, const struct figure *whole, const char *name)
{
	struct figure_part *part;
	char full[sizeof(part->name)];
	int known;

	snprintf(full, sizeof(full), "%s.%s", whole->name, name);
	known = figure_history_find(history, full);
	if (known < 0 && history->part_count >= PARTS_MAX - 1) {
		snprintf(full, sizeof(full), "%s.other", whole->name);
		known = figure_history_find(history, full);
	}
	if (known >= 0)
		return (unsigned)known;
	if (history->part_count >= PARTS_MAX)
		return history->count - 1;
	part = &history->parts[history->part_count++];
	memcpy(part->name, full, sizeof(part->name));
	part->figure = *whole;
	part->figure.name = part->name;
	part->figure.title = part->name + strlen(whole->name) + 1;
	/* It was not there in the sample before; whether it was before the first one is not known. */
	history->before[history->count] = history->boot_ns == 0 ? UINT64_MAX : 0;
	history->now[history->count] = UINT64_MAX;
	history->figures[history->count] = &part->figure;
	return history->count++;
}

void figure_history_part(struct figure_history *history, const struct figure *whole, const char *name, uint64_t total)
{
	unsigned slot = find_part(history, whole, name);

	history->now[slot] = (history->now[slot] == UINT64_MAX ? 0 : history->now[slot]) + total;
}

static void add_parts(struct figure_history *history, const struct snapshot *snapshot)
{
	for (unsigned i = 0; i < FIGURES_MAX; i++)
		history->now[i] = UINT64_MAX;
	registry_each(figure, figure)
		if ((*figure)->parts)
			(*figure)->parts(*figure, snapshot, history);
}

static double figure_now(struct figure_history *history, unsigned index, const struct snapshot *snapshot,
			 uint64_t span_ns)
{
	const struct figure *figure = history->figures[index];
	uint64_t total;
	double rate;

	if (figure->value)
		return figure->value(snapshot);
	total = figure->parts ? history->now[index] : figure->total(snapshot);
	rate = delta_rate(delta_between(history->before[index], total), span_ns);
	history->before[index] = total;
	return figure->scale > 0 ? rate * figure->scale : rate;
}

bool figure_history_add(struct figure_history *history, const struct snapshot *snapshot)
{
	uint64_t now_ns = snapshot->begin_boot_ns, span_ns = now_ns - history->boot_ns;
	bool first = history->boot_ns == 0;

	/* Timers are not exact: a tenth less will do. */
	if (!first && (now_ns <= history->boot_ns || span_ns < history->spacing_ns - history->spacing_ns / 10))
		return false;
	if (history->times_ns.count >= SAMPLES_MAX)
		halve(history);
	add_parts(history, snapshot);
	vec_push(&history->times_ns, snapshot->begin_time_ns);
	for (unsigned i = 0; i < FIGURES_MAX; i++)
		vec_push(&history->values,
			 i < history->count ? figure_now(history, i, snapshot, first ? 0 : span_ns) : NAN);
	history->boot_ns = now_ns;
	return true;
}

int figure_history_find(const struct figure_history *history, const char *name)
{
	for (unsigned i = 0; i < history->count; i++)
		if (strcmp(history->figures[i]->name, name) == 0)
			return (int)i;
	return -ENOENT;
}

void figure_history_read(const struct figure_history *history, unsigned index, uint64_t from_ns, uint64_t step_ns,
			 double *values, size_t count)
{
	_cleanup_free_ uint32_t *known = xzalloc((count + 1) * sizeof(*known));

	for (size_t i = 0; i < count; i++)
		values[i] = 0;
	for (size_t i = 0; i < history->times_ns.count; i++) {
		double value = history->values.items[i * FIGURES_MAX + index];
		uint64_t at_ns = history->times_ns.items[i], slot;

		if (at_ns < from_ns || isnan(value))
			continue;
		slot = (at_ns - from_ns) / step_ns;
		if (slot < count) {
			values[slot] += value;
			known[slot]++;
		}
	}
	for (size_t i = 0; i < count; i++)
		values[i] = known[i] ? values[i] / known[i] : NAN;
}
