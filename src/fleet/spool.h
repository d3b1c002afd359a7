/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Batches that wait to be sent: a directory of numbered segments, each a file of frames (batch.h). One segment is open
 * and grows; closed ones are sent in order and deleted. What spool_add has accepted is on the disk and survives the
 * process; what a killed process left half-written is cut off. Without a directory the segments are kept in memory.
 *
 * A spool never outgrows its limit. With drop_oldest it then drops the oldest segment and counts its rows; otherwise it
 * refuses (-ENOSPC), for a collector, whose agents keep what it refuses.
 */
#pragma once

#include "base/vec.h"
#include "fleet/batch.h"

/* A segment is closed when it has this size; frames are added as a whole. */
#define SPOOL_SEGMENT_BYTES ((size_t)4 << 20)
/* Largest request of a sender: a segment that was almost full, and one more addition. */
#define SPOOL_ADD_MAX     ((size_t)20 << 20)
#define SPOOL_LIMIT_LEAST ((uint64_t)1 << 20)

struct spool;

struct spool_options {
	const char *dir; /* NULL: in memory */
	uint64_t limit_bytes;
	bool drop_oldest;
};

struct spool_figures {
	uint64_t bytes, segments, rows; /* waiting */
	uint64_t dropped_rows;          /* by this process, to stay below the limit */
	uint64_t damaged;               /* segments of an earlier process that were cut */
};

/* Takes over what an earlier process left. -EBUSY: another process uses the directory. */
int spool_open(const struct spool_options *options, struct spool **ret_spool, struct why *why) _must_check_;
void spool_close(struct spool *spool);
static inline void spool_closep(struct spool **spool)
{
	spool_close(*spool);
}

/* Whole frames with this many rows; on the disk when it returns. On error nothing was added. */
int spool_add(struct spool *spool, const void *frames, size_t len, uint64_t rows, struct why *why) _must_check_;
/* Closes the open segment, so that it can be sent. */
void spool_cut(struct spool *spool);
/*
 * The oldest closed segment: its number and its content, valid until spool_remove; the number stays its name. 1, 0 when
 * there is none, or an error. It is not dropped while it is held.
 */
struct spool_segment {
	uint64_t number;
	const void *data;
	size_t len;
	uint64_t rows;
	bool inherited; /* from an earlier process: it may have been sent */
};
int spool_first(struct spool *spool, struct spool_segment *ret_segment, struct why *why) _must_check_;
/* It was sent, or nobody will take it. */
void spool_remove(struct spool *spool, uint64_t number);
struct spool_figures spool_look(const struct spool *spool);
/* Calls fn for each batch that waits, until it returns false: for what a collector has taken before. */
int spool_each(struct spool *spool, bool (*fn)(const struct batch *batch, void *context), void *context,
	       struct why *why) _must_check_;
