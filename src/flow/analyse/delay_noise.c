/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/analyse/delay_noise.h"

#include "flow/analyse/compare.h"

/* Share of the delays that are large. */
#define LARGE_SHARE 0.1

static int by_value(const void *a, const void *b)
{
	const double *one = a, *other = b;

	return *one < *other ? -1 : *one > *other;
}

struct delay_noise delay_noise_of(double *delays, size_t count)
{
	struct delay_noise noise = {.delays = delays, .count = count};

	if (!count)
		return noise;
	spill_sort(delays, count, sizeof(*delays), by_value);
	noise.large_ns = delays[(size_t)((1 - LARGE_SHARE) * (double)count)];
	return noise;
}

size_t delay_noise_count(const struct delay_noise *noise, double ns)
{
	size_t low = 0, high = noise->count;

	/* The first one of that length. */
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (noise->delays[middle] < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return noise->count - low;
}

double delay_noise_longest(const struct delay_noise *noise, size_t number)
{
	return noise->count >= number ? noise->delays[noise->count - number] : 0;
}
