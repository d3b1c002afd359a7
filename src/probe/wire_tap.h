/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A packet socket that receives resets, name lookups and their answers, and errors about them. */
#pragma once

#include "probe/wire.h"

/* In the namespace that the caller is in; the descriptor, or a negative errno. */
int wire_tap_open(struct why *why) _must_check_;

#define WIRE_FLOWS_MAX 16

/* A connection by its ports, which differ from any other's most of the time: the addresses are looked at later. */
struct wire_flow {
	uint16_t lport, rport;
};

/* From now on all segments of these connections are received, and nothing else. */
int wire_tap_set_flows(int fd, const struct wire_flow *flows, unsigned count) _must_check_;
/*
 * Lookups leave this host, and what they take is measured. To look at what is sent costs a little more, and to give
 * every packet of the host its time does, too: so both are left out when there are none.
 */
void wire_tap_set_lookups(int fd, bool wanted);

typedef void wire_packet_fn(const struct wire_packet *packet, uint64_t time_ns, void *context);
/* What arrived since the last time, capped so that a flood cannot hold the caller up. Returns how many were lost. */
uint64_t wire_tap_read(int fd, wire_packet_fn *take, void *context);
