/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scheduling delays of the recorded threads as a model of noise. A process that the program calls has similar delays,
 * which are not recorded: the time spent waiting for it is compared with the recorded ones.
 */
#pragma once

#include <stddef.h>

struct delay_noise {
	const double *delays; /* sorted, nanoseconds */
	size_t count;
	double large_ns; /* a delay that few are longer than */
};

/* Sorts the delays, nanoseconds, and keeps them. */
struct delay_noise delay_noise_of(double *delays, size_t count);

/* How many delays are at least that long. */
size_t delay_noise_count(const struct delay_noise *noise, double ns);
/* The longest (1), the second longest ...; 0: there are fewer. */
double delay_noise_longest(const struct delay_noise *noise, size_t number);
