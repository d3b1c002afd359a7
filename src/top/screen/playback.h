/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recording as it is watched: its time, speed, where findings begin. */
#pragma once

#include "base/vec.h"
#include "store/replay.h"

/*
 * Read before a time that one jumps to, so that rates and the diagnosis know something of it. Not whole seconds: what
 * is shown every second then ends with the last sample before that time.
 */
#define PLAYBACK_BEFORE_NS (UINT64_C(6200) * 1000000)

struct playback {
	uint64_t begin_ns, end_ns; /* of its samples */
	uint64_t at_ns;            /* the recorded time that is shown */
	uint64_t tick_ns;          /* the clock when it was */
	double speed;              /* 0: paused */
	VEC(uint64_t) findings;    /* when they began, in order */
};

/* Reads when samples were taken and findings made. -ENODATA: it has no samples. */
int playback_open(struct playback *playback, struct recording *recording, const struct time_range *range,
		  struct why *why) _must_check_;
void playback_done(struct playback *playback);
/* The recorded time that should be shown now. */
uint64_t playback_advance(struct playback *playback, uint64_t clock_ns);
/* Inside the recording. */
uint64_t playback_clamp(const struct playback *playback, int64_t at_ns);
/* The beginning of the next finding, or of the one before; 0: none. */
uint64_t playback_next_finding(const struct playback *playback, int direction);
/* Twice or half as fast; from paused: 1. */
void playback_faster(struct playback *playback, int direction);
