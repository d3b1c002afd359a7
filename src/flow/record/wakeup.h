/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Wakeup latency of the recorder: it wakes up every WAKEUP_NS while the program runs, and notes when it waited for a
 * CPU. Other processes of the machine, which are not recorded, wait in the same way; at the same time, if the whole
 * machine stalls.
 */
#pragma once

#include "base/vec.h"
#include "flow/trace/trace_format.h"

#define WAKEUP_NS UINT64_C(2000000)
/* Shortest latency that is noted, at first. */
#define WAKEUP_LATE_NS UINT64_C(200000)
/* Latencies kept: when there are more, the shorter half is forgotten. */
#define WAKEUP_ROOM 32768u

struct wakeup {
	uint64_t begin_ns;          /* when the timer was set, */
	uint64_t begin_ticks;       /* in both clocks */
	uint32_t clock;             /* of these ticks: enum flow_clock */
	uint64_t expired;           /* times since then */
	uint64_t least_ns;          /* shortest latency that is noted */
	VEC(struct flow_late) late; /* in nanoseconds, not ticks */
};

void wakeup_begin(struct wakeup *wakeup, uint64_t now_ns);
/* expirations: of the timer, since the last call. */
void wakeup_note(struct wakeup *wakeup, uint64_t now_ns, uint64_t expirations);
void wakeup_done(struct wakeup *wakeup);
