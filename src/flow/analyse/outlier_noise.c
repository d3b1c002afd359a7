/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/analyse/outlier_noise.h"

#include "flow/analyse/compare.h"

/* Share of the delays that are large, and how many of them show a tail. */
#define LARGE_SHARE 0.1
#define LARGE_LEAST 4
/* What of the estimated tail is used, and at most. */
#define TAIL_REDUCED 0.75
#define TAIL_MOST    2.5
/* Both the request and its answer may be delayed. */
#define DELAYS 2.0

static int by_value(const void *a, const void *b)
{
	const double *one = a, *other = b;

	return *one < *other ? -1 : *one > *other;
}

struct outlier_noise outlier_noise_of(double *delays, size_t count, double tail)
{
	struct outlier_noise noise = {.tail = tail};
	size_t first = (size_t)((1 - LARGE_SHARE) * (double)count), large = count - first;
	double sum = 0;

	if (!count)
		return noise;
	qsort(delays, count, sizeof(*delays), by_value);
	noise.large_ns = delays[first];
	if (large < LARGE_LEAST || noise.large_ns <= 0)
		return noise;
	/* Hill's estimate. */
	for (size_t i = first + 1; i < count; i++)
		sum += log(delays[i] / noise.large_ns);
	noise.tail = max_of(tail, min_of(TAIL_REDUCED * (double)(large - 1) / max_of(sum, 1e-9), TAIL_MOST));
	return noise;
}

double outlier_noise_chance(const struct outlier_noise *noise, uint32_t count, double sessions, double excess_ns,
			    double next_ns)
{
	double large = DELAYS * noise->large_ns;

	if (large <= 0 || next_ns > large || excess_ns <= large)
		return 1;
	return compare_many_chance(count, sessions * LARGE_SHARE * pow(excess_ns / large, -noise->tail));
}
