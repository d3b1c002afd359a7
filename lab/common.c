// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/parse.h"
#include "common.h"

void rng_seed(struct rng *rng, uint64_t seed)
{
	rng->state = seed;
}

uint64_t rng_next(struct rng *rng)
{
	uint64_t z = rng->state += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

uint64_t rng_below(struct rng *rng, uint64_t n)
{
	/* High half of a wide product: uniform enough for small n, without division. */
	return (uint64_t)(((unsigned __int128)rng_next(rng) * n) >> 64);
}

bool rng_chance(struct rng *rng, uint64_t ppm)
{
	if (ppm == 0)
		return false;
	if (ppm >= PPM)
		return true;
	return rng_below(rng, PPM) < ppm;
}

int lab_parse_scaled(const char *text, uint64_t scale, uint64_t max, uint64_t *ret_value)
{
	double value;
	int r;

	r = parse_double(text, 0, (double)max / (double)scale, &value);
	if (r < 0)
		return r;
	/* A double holds all allowed values exactly; +0.5 rounds 0.1 % to 1000 ppm, not 999. */
	*ret_value = min_of((uint64_t)(value * (double)scale + 0.5), max);
	return 0;
}

void lab_die_with_parent(void)
{
	pid_t parent = getppid();

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* The parent may have exited before prctl(): then the signal never comes. */
	if (getppid() != parent)
		(void)raise(SIGKILL);
}
