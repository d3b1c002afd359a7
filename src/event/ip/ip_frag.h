/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* ip.frag: an IP fragment was received, transmitted, or dropped before its packet was complete. */
#pragma once

#include "event/core/head.h"
#include "event/core/packet.h"

enum ip_frag_what { IP_FRAG_RX = 1, IP_FRAG_TX, IP_FRAG_LOST };

struct ip_frag {
	__u64 lat_ns;    /* since the first fragment; EVENT_UNKNOWN64: not seen */
	__u64 mem_bytes; /* reassembly memory of the namespace */
	__u64 mem_limit;
	__u32 id;
	__u32 offset;
	__u32 bytes;
	__u32 reason; /* enum skb_drop_reason of the running kernel */
	__u32 error;  /* errno */
	__u32 fragments;
	char dev[PACKET_DEV_LEN];
	__u8 what;
	__u8 more;
	__u8 whole; /* completes the packet */
	__u8 unused[5];
};

struct ip_frag_event {
	struct event_head head;
	struct ip_frag data;
};
