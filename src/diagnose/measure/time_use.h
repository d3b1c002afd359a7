/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the time of a program goes: on a CPU, waiting for one, waiting for whom. The shares of a program add up to one.
 *
 * A thread's time is divided by what it does. Of a program with several threads, each thread counts in proportion to
 * the time in which it was neither idle nor blocked outside of the network: idle workers of a pool do not hide the one
 * that works.
 */
#pragma once

#include "diagnose/graph/module.h"

/* As many windows as a report covers at most. */
#define TIME_WINDOWS    3
#define TIME_SHARES_MAX 16
#define TIME_ON_MAX     80

enum time_what {
	TIME_CPU,
	TIME_CPU_WAIT,
	TIME_ANSWER,
	TIME_NETWORK,
	TIME_CONNECT,
	TIME_DNS,
	TIME_PEER_READING,
	TIME_IDLE,
	TIME_OTHER,
};

struct time_share {
	enum time_what what;
	char on[TIME_ON_MAX]; /* id of the module that it waits for; "": none */
	double share;
	uint64_t count, p50_ns, max_ns; /* answers, or waits; all bits set: unknown */
	uint64_t rtt_ns;
	uint64_t most; /* waits that the median is of */
};

struct time_use {
	bool estimate; /* from samples */
	unsigned count;
	struct time_share shares[TIME_SHARES_MAX]; /* largest first */
};

/* The last windows, newest first. */
struct time_history {
	unsigned windows;
	uint64_t spans[TIME_WINDOWS];
	struct time_use uses[TIME_WINDOWS];
};

/* That many of the last windows together. */
struct time_use time_history_sum(const struct time_history *history, unsigned windows);
const char *time_what_name(enum time_what what);
/* Neither idle nor blocked outside of the network. */
double time_use_busy(const struct time_use *use);
