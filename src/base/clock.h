/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The two clocks: events have time since boot, users read the time of day. */
#pragma once

#include <time.h>

#include "base/macros.h"

#define NSEC_PER_USEC UINT64_C(1000)
#define NSEC_PER_MSEC UINT64_C(1000000)
#define NSEC_PER_SEC  UINT64_C(1000000000)

static inline uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

static inline uint64_t clock_monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static inline uint64_t clock_real_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}
