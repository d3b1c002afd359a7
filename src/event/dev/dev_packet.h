/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* dev.queue, dev.xmit, dev.arrive, dev.receive: a packet between the stack and an interface. */
#pragma once

#include "event/core/head.h"
#include "event/core/packet.h"

/* GSO happens between the first two, GRO between the last two. */
enum dev_stage { DEV_SEND = 1, DEV_NIC_SEND, DEV_NIC_RECV, DEV_RECV };

struct dev_packet {
	char dev[PACKET_DEV_LEN];
	__u32 bytes;
	__u32 queue; /* EVENT_UNKNOWN32: not reported by the driver */
	__u16 segs;
	__u8 stage;
	__u8 dir;
	__u32 unused;
};

struct dev_packet_event {
	struct event_head head;
	struct dev_packet data;
};
