/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recording as a stream of snapshots: commands for the live host run on it unchanged. */
#pragma once

#include "snapshot/core/snapshot.h"
#include "store/input.h"

struct replay;

/* types: NULL-terminated; NULL: all. -ENOENT for a type that was not recorded. */
int replay_open(struct recording *recording, const struct time_range *range, const struct record_type *const *types,
		struct replay **ret_replay, struct why *why) _must_check_;
/* Fills the snapshot with the next sample: 1, 0 at the end, or an error. Its strings are valid until the next call. */
int replay_next(struct replay *replay, struct snapshot *snapshot, struct why *why) _must_check_;
/* Samples in the range. */
uint64_t replay_samples(const struct replay *replay);
/* When one of them was taken, in time since boot, and how far from the next it was meant to be (0: unknown). */
struct replay_time {
	uint64_t boot_ns, pace_ns;
};
struct replay_time replay_time(const struct replay *replay, uint64_t number);
/* Invalid rows so far. */
uint64_t replay_refused(const struct replay *replay);
void replay_close(struct replay *replay);
static inline void replay_closep(struct replay **replay)
{
	replay_close(*replay);
}
