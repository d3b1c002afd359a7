/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* ip.route: a table of routes was asked for the way to an address. */
#pragma once

#include "event/core/head.h"
#include "event/core/packet.h"

struct ip_route {
	__u64 lat_ns;      /* EVENT_UNKNOWN64: its beginning is not seen */
	__u64 lat_most_ns; /* of a packet that arrived: since then */
	__u32 table;
	__u32 error; /* errno */
	char dev[PACKET_DEV_LEN];
	struct addr gateway;
	__u8 unused[7];
};

struct ip_route_event {
	struct event_head head;
	struct ip_route data;
};
