/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checksum of a chunk: its header with the checksum field zeroed, and its payload. */
#pragma once

#include "flow/trace/trace_format.h"
#include "flow/trace/xxh64.h"

static inline uint64_t flow_chunk_checksum(const struct flow_chunk *chunk, const void *payload)
{
	struct flow_chunk header = *chunk;
	struct xxh64 x;

	_Static_assert(sizeof(header) % 32 == 0, "the payload must start on a stripe boundary");
	header.checksum = 0;
	xxh64_begin(&x);
	(void)xxh64_stripes(&x, (const uint8_t *)&header, sizeof(header));
	return xxh64_end(&x, payload, chunk->bytes);
}
