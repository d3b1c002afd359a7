/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A batch: compressed rows of one table from one origin, in a frame with a checksum. Frames are what the spool holds
 * and what an agent sends to a collector; several frames one after another need nothing around them. All rows of a
 * batch are of one day (UTC), so that a server stores it as a whole or not at all.
 */
#pragma once

#include "fleet/fleet_row.h"

/* Compressed, and not. */
#define BATCH_BODY_MAX ((size_t)16 << 20)
#define BATCH_TEXT_MAX ((size_t)64 << 20)
#define BATCH_ROWS_MAX 200000

/* It was sent before, and nobody knows whether it arrived. */
#define BATCH_RETRIED 1u

struct batch {
	char table[FLEET_TABLE_MAX + 1];
	struct fleet_origin origin;
	uint32_t flags;
	uint32_t rows;
	uint64_t first_row;
	uint64_t min_time_ns, max_time_ns;
	const void *body; /* gzip */
	size_t body_len;
};

/* Appends the frame. */
void batch_add(struct buf *out, const struct batch *batch);
/*
 * The frame at the start of the data, and its length; the body points into the data. -EAGAIN: it goes on beyond the
 * end; -EBADMSG: no frame, or a damaged one.
 */
int batch_read(const void *data, size_t len, struct batch *ret_batch, size_t *ret_len) _must_check_;
/* Appends the rows to out; -EBADMSG when they are damaged, -E2BIG when they are too long. */
int batch_inflate(const struct batch *batch, struct buf *out) _must_check_;
/* Appends the text as gzip. */
void batch_deflate(struct buf *out, const void *text, size_t len);

static inline uint64_t batch_day(uint64_t time_ns)
{
	return time_ns / (UINT64_C(86400) * 1000000000);
}
