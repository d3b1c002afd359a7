/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scheduling delays of the recorded threads as a model of noise. A process that the program calls has similar delays,
 * which are not recorded: the time spent waiting for it is compared with the recorded ones.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct delay_noise {
	const double *delays; /* sorted, nanoseconds */
	size_t count;
	double large_ns; /* a delay that few are longer than */
	double tail;     /* of those: twice as long is 2^tail times as rare */
};

/* Sorts the delays, nanoseconds, and keeps them. tail: at least. */
struct delay_noise delay_noise_of(double *delays, size_t count, double tail);

/* Whether there are enough of them to say how rare a long one is. */
bool delay_noise_is_known(const struct delay_noise *noise);
/* How many delays are at least that long. */
size_t delay_noise_count(const struct delay_noise *noise, double ns);
/* Probability that a delay is at least that long; beyond the longest ones by their tail. */
double delay_noise_share(const struct delay_noise *noise, double ns);
