/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bytes that get as far into the reader of traces as they can. */
#pragma once

#include "flow/trace/checksum.h"
#include "fuzz.h"

/* Corrects the checksum of what the fuzzer invents, so that the code behind it is reached. */
static inline void put_checksums_right(uint8_t *data, size_t size)
{
	size_t at = 0;

	while (size - at >= sizeof(struct flow_chunk)) {
		struct flow_chunk header;

		memcpy(&header, data + at, sizeof(header));
		if (header.magic != FLOW_MAGIC || header.bytes > size - at - sizeof(header))
			return;
		header.checksum = flow_chunk_checksum(&header, data + at + sizeof(header));
		memcpy(data + at, &header, sizeof(header));
		at += sizeof(header) + header.bytes;
	}
}
