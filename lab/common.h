/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the programs of the laboratory share: seeded chance, numbers with a point, not outliving a runner. */
#pragma once

#include "base/clock.h"

#define NS_PER_US 1000ull
#define NS_PER_MS 1000000ull
#define NS_PER_S  NSEC_PER_SEC
#define PPM       1000000u

/* The same seed gives the same sequence on every machine; quality is that of splitmix64, ample for dice. */
struct rng {
	uint64_t state;
};

void rng_seed(struct rng *rng, uint64_t seed);
uint64_t rng_next(struct rng *rng);
/* 0 .. n - 1; n must not be 0. */
uint64_t rng_below(struct rng *rng, uint64_t n);
/* True in ppm of a million cases; draws only when the answer is open, so an unused setting leaves the sequence alone.
 */
bool rng_chance(struct rng *rng, uint64_t ppm);

/* "2.5" with scale 1000 is 2500; max is in scaled units. Errors as in base/parse.h. */
int lab_parse_scaled(const char *text, uint64_t scale, uint64_t max, uint64_t *ret_value) _must_check_;

/* The kernel ends this process when the thread that started it ends, even if that was by kill -9. */
void lab_die_with_parent(void);
