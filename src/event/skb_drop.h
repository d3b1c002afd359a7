/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* skb.drop: the kernel threw a packet away. */
#pragma once

#include "event/head.h"
#include "event/packet.h"

struct skb_drop {
	__u64 location; /* where in the kernel */
	__u32 reason;   /* enum skb_drop_reason of the running kernel; 0 where it tells none */
	__u32 bytes;
	char dev[PACKET_DEV_LEN];
	__u8 dir;
	__u8 state; /* of the socket; 0 when there is none */
	__u8 flags; /* of the TCP header */
	__u8 unused[5];
};

struct skb_drop_event {
	struct event_head head;
	struct skb_drop data;
};
