/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/analyse/delay_noise.h"

#include "flow/analyse/compare.h"

/* Share of the delays that are large, and how many of them show a tail. */
#define LARGE_SHARE 0.1
#define LARGE_LEAST 4
/* What of the estimated tail is used, and at most. */
#define TAIL_REDUCED 0.75
#define TAIL_MOST    2.5
/* So many delays show how rare long ones are. */
#define KNOWN_LEAST 20

static int by_value(const void *a, const void *b)
{
	const double *one = a, *other = b;

	return *one < *other ? -1 : *one > *other;
}

struct delay_noise delay_noise_of(double *delays, size_t count, double tail)
{
	struct delay_noise noise = {.delays = delays, .count = count, .tail = tail};
	size_t first = (size_t)((1 - LARGE_SHARE) * (double)count), large = count - first;
	double sum = 0;

	if (!count)
		return noise;
	spill_sort(delays, count, sizeof(*delays), by_value);
	noise.large_ns = delays[first];
	if (large < LARGE_LEAST || noise.large_ns <= 0)
		return noise;
	/* Hill's estimate. */
	for (size_t i = first + 1; i < count; i++)
		sum += log(delays[i] / noise.large_ns);
	noise.tail = max_of(tail, min_of(TAIL_REDUCED * (double)(large - 1) / max_of(sum, 1e-9), TAIL_MOST));
	return noise;
}

bool delay_noise_is_known(const struct delay_noise *noise)
{
	return noise->count >= KNOWN_LEAST && noise->delays[noise->count - LARGE_LEAST] > 0;
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

double delay_noise_share(const struct delay_noise *noise, double ns)
{
	size_t longer = delay_noise_count(noise, ns);

	if (longer >= LARGE_LEAST)
		return (double)longer / (double)noise->count;
	return LARGE_LEAST / (double)noise->count * pow(ns / noise->delays[noise->count - LARGE_LEAST], -noise->tail);
}
