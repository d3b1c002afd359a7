/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the programs of the laboratory: seeded random numbers, decimal numbers, parent death signal. */
#pragma once

#include "base/clock.h"

#define NS_PER_US 1000ull
#define NS_PER_MS 1000000ull
#define NS_PER_S  NSEC_PER_SEC
#define PPM       1000000u

/* splitmix64: the same seed gives the same sequence on every machine. */
struct rng {
	uint64_t state;
};

void rng_seed(struct rng *rng, uint64_t seed);
uint64_t rng_next(struct rng *rng);
/* 0 .. n - 1; n must not be 0. */
uint64_t rng_below(struct rng *rng, uint64_t n);
/* True with a probability of ppm per million; 0 and 1,000,000 do not advance the sequence. */
bool rng_chance(struct rng *rng, uint64_t ppm);

/* "2.5" with scale 1000 is 2500; max is in scaled units. Errors as in base/parse.h. */
int lab_parse_scaled(const char *text, uint64_t scale, uint64_t max, uint64_t *ret_value) _must_check_;

/* The kernel kills this process when its parent thread ends, even by SIGKILL. */
void lab_die_with_parent(void);
