/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A packet socket that receives resets, DNS queries and replies or all UDP datagrams, and ICMP errors about them. */
#pragma once

#include "probe/wire.h"

/* Opens it in the current namespace; returns the descriptor or a negative errno. */
int wire_tap_open(struct why *why) _must_check_;

#define WIRE_FLOWS_MAX 16

/* A connection by its ports, which are mostly unique; the addresses are checked later. */
struct wire_flow {
	uint16_t lport, rport;
};

/* Receives all segments of these connections and nothing else from now on. */
int wire_tap_set_flows(int fd, const struct wire_flow *flows, unsigned count) _must_check_;
/* Each includes those before. */
enum wire_wanted { WIRE_WANTED_RESETS, WIRE_WANTED_LOOKUPS, WIRE_WANTED_DATAGRAMS };

/*
 * Queries are outgoing packets, and their latency needs timestamps. Both cost extra for every packet of the host, so
 * they are enabled only if there are DNS queries or other datagrams.
 */
int wire_tap_want(int fd, enum wire_wanted wanted) _must_check_;

typedef void wire_packet_fn(const struct wire_packet *packet, uint64_t time_ns, void *context);
/* Reads packets since the last call, bounded so that a flood cannot block the caller. Returns the number lost. */
uint64_t wire_tap_read(int fd, wire_packet_fn *take, void *context);
