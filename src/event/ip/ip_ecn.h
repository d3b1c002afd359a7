/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* ip.ecn: a packet with an ECN mark. */
#pragma once

#include "event/core/head.h"
#include "event/core/packet.h"

struct ip_ecn {
	__u32 bytes;
	__u16 segs; /* packets on the wire */
	__u8 ecn;   /* the two bits of the header, never 0 */
	__u8 dscp;
	char dev[PACKET_DEV_LEN];
	__u8 dir;
	__u8 unused[7];
};

struct ip_ecn_event {
	struct event_head head;
	struct ip_ecn data;
};
