/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* ip.frag: a fragment of an IP packet came, left, or was thrown away before its packet was whole. */
#pragma once

#include "event/core/head.h"
#include "event/core/packet.h"

enum ip_frag_what { IP_FRAG_RX = 1, IP_FRAG_TX, IP_FRAG_LOST };

struct ip_frag {
	__u64 lat_ns;    /* since the first one came; EVENT_UNKNOWN64: not seen */
	__u64 mem_bytes; /* that all waiting fragments of the namespace take */
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
	__u8 whole; /* the last part that was missing has come */
	__u8 unused[5];
};

struct ip_frag_event {
	struct event_head head;
	struct ip_frag data;
};
