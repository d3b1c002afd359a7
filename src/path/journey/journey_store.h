/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Journeys in a recording: a table of journeys and one of stages, joined by the journey's number. Reading returns them
 * in the recorded order; an invalid row is skipped and counted.
 */
#pragma once

#include "path/journey/journey.h"
#include "store/input.h"
#include "store/store.h"

struct journey_keeper {
	struct store_table *journeys;
	struct store_table *stages;
	uint64_t count;
};

int journey_keeper_open(struct journey_keeper *keeper, struct store *store) _must_check_;
int journey_keep(struct journey_keeper *keeper, const struct journey *journey) _must_check_;

struct journey_replay;

/* -ENOENT with a reason when the recording has no journeys. */
int journey_replay_open(struct recording *recording, const struct time_range *range, struct journey_replay **ret_replay,
			struct why *why) _must_check_;
/* 1, 0 at the end, or an error. */
int journey_replay_next(struct journey_replay *replay, struct journey *ret_journey, struct why *why) _must_check_;
/* Lost while recording, and skipped while reading. */
uint64_t journey_replay_lost(const struct journey_replay *replay);
void journey_replay_close(struct journey_replay *replay);
static inline void journey_replay_closep(struct journey_replay **replay)
{
	journey_replay_close(*replay);
}

/* Whether stages are contiguous and sum up to the total. */
bool journey_adds_up(const struct journey *journey);
