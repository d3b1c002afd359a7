/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Socket counts and buffer memory with their limits: types "memory" and "protocol". */
#pragma once

#include "snapshot/core/snapshot.h"

struct memory_record {
	uint32_t netns;
	uint32_t tcp_inuse; /* IPv4 and IPv6 */
	uint32_t tcp_orphan;
	uint32_t tcp_time_wait;
	uint32_t tcp_alloc;
	uint64_t tcp_bytes; /* host-wide, like the limits */
	uint64_t tcp_low_bytes, tcp_pressure_bytes, tcp_max_bytes;
	uint32_t udp_inuse;
	uint64_t udp_bytes;
	uint64_t udp_low_bytes, udp_pressure_bytes, udp_max_bytes;
	uint32_t frag_inuse;
	uint64_t frag_bytes;
	uint32_t orphan_max;
	uint32_t time_wait_max;
};

struct protocol_record {
	uint32_t netns;
	char protocol[16];
	uint32_t sockets;
	uint64_t memory_bytes;
	bool pressure;
};

extern const struct record_type memory_type;
extern const struct record_type protocol_type;

void memory_parse_sockstat(struct memory_record *memory, const char *text);
/* "min pressure max", in pages. */
bool memory_parse_limits(const char *text, uint64_t *low, uint64_t *pressure, uint64_t *max);
void memory_parse_protocols(struct snapshot *snapshot, const char *text);
