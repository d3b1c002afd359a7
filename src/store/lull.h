/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A host at rest. CPU times, pressure, memory in use (field->drift) change while the network does nothing. Once nothing
 * else changed for some seconds, a sample takes the place of the one before: of a stretch at rest a recording holds the
 * first and the last sample and the number of those left out between (sample.left_out). A replay makes them again:
 * evenly spaced, drifting fields interpolated. The last sample is always in the file, so a kill loses no more than
 * without rest.
 */
#pragma once

#include "store/about.h"
#include "store/rows.h"

/* --- writing --- */

/* The samples written last. */
struct lull {
	struct sample_record first, last; /* of the stretch at rest; last.id 0: there is none yet */
	bool resting;                     /* last was at rest: it may be replaced */
	int64_t row;                      /* of last, in its table */
	uint64_t moved_ns;                /* the last sample that was not */
	uint64_t found;                   /* id of the last sample when a diagnosis found something */
	uint64_t window_ns;               /* of a recording with a moving window; 0: all is kept */
};

/*
 * The next sample. at_rest: nothing but drifting fields changed since the last one. Whether it takes the place of the
 * last one; sets sample->left_out.
 */
bool lull_step(struct lull *lull, struct sample_record *sample, bool at_rest);

/* --- reading --- */

/* Samples of a recording in their order, with those that were left out. */
struct samples {
	struct rows *rows;
	struct sample_record before, stored; /* the last two in the file */
	uint64_t number, count;              /* of those between: the one that was read last */
	uint64_t made;                       /* so far */
	uint64_t refused;                    /* rows that fit no field */
};

int samples_open(struct samples *samples, struct recording *recording, struct why *why) _must_check_;
/* 1, 0 at the end, or an error. */
int samples_next(struct samples *samples, struct sample_record *ret_sample, struct why *why) _must_check_;
/* Where the last one read stands between samples->before and samples->stored; 1: it is the latter. */
double samples_share(const struct samples *samples);
void samples_close(struct samples *samples);
/* Times of the first and the last sample in the range. -ENODATA: there is none. */
struct time_range;
int samples_bounds(struct recording *recording, const struct time_range *range, uint64_t *ret_begin_ns,
		   uint64_t *ret_end_ns, struct why *why) _must_check_;

/* Whether records of the type have fields that drift. */
bool lull_drifts(const struct record_type *type);
/* Sets the drifting numbers of a record, a copy of `after`, to what they were between the two. Of `before` only numbers
 * are read: its text may be gone. */
void lull_between(const struct record_type *type, const void *before, const void *after, double share, void *data);
