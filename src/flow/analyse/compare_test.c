/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Statistics of a comparison. */
#include "flow/analyse/compare.h"

static int by_number(const void *a, const void *b)
{
	const uint64_t *one = a, *other = b;

	return *one < *other ? -1 : *one > *other;
}

uint64_t compare_median(uint64_t *values, size_t count)
{
	if (!count)
		return 0;
	spill_sort(values, count, sizeof(*values), by_number);
	return values[count / 2];
}

double compare_superiority(uint64_t *a, size_t a_count, uint64_t *b, size_t b_count)
{
	size_t below = 0, not_above = 0;
	double wins = 0;

	if (!a_count || !b_count)
		return 0.5;
	spill_sort(a, a_count, sizeof(*a), by_number);
	spill_sort(b, b_count, sizeof(*b), by_number);
	for (size_t i = 0; i < b_count; i++) {
		while (below < a_count && a[below] < b[i])
			below++;
		not_above = max_of(not_above, below);
		while (not_above < a_count && a[not_above] == b[i])
			not_above++;
		wins += (double)below + (double)(not_above - below) / 2;
	}
	return wins / (double)a_count / (double)b_count;
}

double compare_rank_chance(double superiority, size_t a_count, size_t b_count)
{
	double pairs = (double)a_count * (double)b_count;
	double z = pairs > 0 ? ((superiority - 0.5) * pairs - 0.5) / sqrt(pairs * (double)(a_count + b_count + 1) / 12)
			     : 0;

	return erfc(z / sqrt(2)) / 2;
}

/* Excesses of sessions are not independent. */
#define SET_MOST 5.0

double compare_many_chance(uint32_t count, double expected)
{
	double term = exp(-expected), below = 0;

	for (uint32_t i = 0; i < count; i++) {
		below += term;
		term *= expected / (i + 1);
	}
	/* For small tails 1 - below loses its digits: sum the first terms instead. */
	if (1 - below > 1e-9)
		return 1 - below;
	for (below = 0; count < 1000 && term > 1e-300; term *= expected / ++count)
		below += term;
	return below;
}

double compare_set_chance(double k, double expected)
{
	/* The choice of k has the weights 1 / (k (k - 1)), which add up to 1. More than a few add no certainty. */
	return k * (k - 1) * compare_many_chance((uint32_t)min_of(k, SET_MOST), expected);
}

static double log_choose(double n, double k)
{
	return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

double compare_chance(uint32_t bad_with, uint32_t bad, uint32_t good_with, uint32_t good)
{
	double with = (double)bad_with + good_with, all = (double)bad + good, chance = 0;

	for (uint32_t k = bad_with; k <= bad && k <= with; k++)
		chance += exp(log_choose(bad, k) + log_choose(good, with - k) - log_choose(all, with));
	return min_of(chance, 1.0);
}

/* Resamples of the sessions, at most DRAWS_MAX of each group, and what the interval leaves out on each side. */
#define RESAMPLES 400
#define DRAWS_MAX 4096
#define UNSURE    0.005

/* The quantile of as many values, drawn with replacement: that of the sorted values at a drawn rank. */
static double resampled(const uint64_t *values, size_t count, double quantile, uint64_t *state, uint32_t *ranks)
{
	size_t n = min_of(count, (size_t)DRAWS_MAX), wanted = (size_t)((double)n * quantile), below = 0;

	memset(ranks, 0, n * sizeof(*ranks));
	for (size_t i = 0; i < n; i++) {
		*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		ranks[(*state >> 33) % n]++;
	}
	for (size_t i = 0; i < n; i++) {
		below += ranks[i];
		/* Of more values than are drawn, evenly spaced ones. */
		if (below > wanted)
			return (double)values[i * count / n];
	}
	return (double)values[count - 1];
}

static int by_ratio(const void *a, const void *b)
{
	const double *one = a, *other = b;

	return *one < *other ? -1 : *one > *other;
}

struct compare_interval compare_ratio_interval(const uint64_t *good, size_t good_count, const uint64_t *bad,
					       size_t bad_count, double quantile)
{
	size_t skipped = (size_t)(UNSURE * RESAMPLES);
	_cleanup_free_ uint32_t *ranks = xzalloc(DRAWS_MAX * sizeof(*ranks));
	double ratios[RESAMPLES];
	uint64_t state = 1;

	if (!good_count || !bad_count)
		return (struct compare_interval){};
	for (unsigned i = 0; i < RESAMPLES; i++) {
		double usual = resampled(good, good_count, quantile, &state, ranks);

		ratios[i] = resampled(bad, bad_count, quantile, &state, ranks) / max_of(usual, 1.0);
	}
	qsort(ratios, RESAMPLES, sizeof(*ratios), by_ratio);
	return (struct compare_interval){ratios[skipped], ratios[RESAMPLES - 1 - skipped]};
}
