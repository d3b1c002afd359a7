/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scheduling delays of the recorded threads. A process that the program calls has similar delays, which are not
 * recorded: the time spent waiting for it is compared with the recorded ones.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct outlier_noise {
	double large_ns; /* a delay that few are longer than */
	double tail;     /* of those: twice as long is 2^tail times as rare */
};

/* Sorts the delays, nanoseconds. tail: at least. */
struct outlier_noise outlier_noise_of(double *delays, size_t count, double tail);

/* Probability that this number of `sessions` lost that time each, if others had no more than next_ns; 1: unknown. */
double outlier_noise_chance(const struct outlier_noise *noise, uint32_t count, double sessions, double excess_ns,
			    double next_ns);
