/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* neigh.resolve: neighbour resolution, succeeded or failed. */
#pragma once

#include "event/core/head.h"
#include "event/core/packet.h"

struct neigh_resolve {
	__u64 lat_ns;
	char dev[PACKET_DEV_LEN];
	__u32 error; /* errno */
	__u32 probes;
};

struct neigh_resolve_event {
	struct event_head head;
	struct neigh_resolve data;
};
