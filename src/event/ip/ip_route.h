/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* ip.route: route lookup in one table. */
#pragma once

#include "event/core/head.h"
#include "event/core/packet.h"

struct ip_route {
	__u64 lat_ns;      /* EVENT_UNKNOWN64: start not seen */
	__u64 lat_most_ns; /* received packets: time since arrival */
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
