/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recording as a stream of snapshots: what ran on the live host runs on this, and cannot tell the difference. */
#pragma once

#include "base/option.h"
#include "snapshot/core/snapshot.h"
#include "store/reader.h"

struct input_options {
	const char *file;
	const char *from;
	const char *to;
};

/* -f, --from and --to; for OPTION_GROUP. */
extern const struct option_spec input_option_table[];

struct time_range {
	uint64_t from_ns;
	uint64_t to_ns; /* UINT64_MAX: to the end */
};

/* Opens the file that -f names and reads --from and --to against it. */
int input_open(const struct input_options *options, struct recording **ret_recording, struct time_range *ret_range,
	       struct why *why) _must_check_;
/* 02:13, 02:13:30.5, a full date and time, +10s (after the beginning), -1m (before the end). */
int recording_parse_time(struct recording *recording, const char *text, uint64_t *ret_ns, struct why *why) _must_check_;

struct replay;

/* types: those that are wanted, NULL at the end; NULL: all. A type that was not recorded is -ENOENT. */
int replay_open(struct recording *recording, const struct time_range *range, const struct record_type *const *types,
		struct replay **ret_replay, struct why *why) _must_check_;
/* Fills the snapshot with the next sample: 1, 0 at the end, or an error. Its strings live until the next call. */
int replay_next(struct replay *replay, struct snapshot *snapshot, struct why *why) _must_check_;
/* Samples in the range. */
uint64_t replay_samples(const struct replay *replay);
/* Rows that could not be understood so far. */
uint64_t replay_refused(const struct replay *replay);
void replay_close(struct replay *replay);
static inline void replay_closep(struct replay **replay)
{
	replay_close(*replay);
}
