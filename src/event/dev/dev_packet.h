/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* dev.queue, dev.xmit, dev.arrive, dev.receive: a packet at the border between the stack and an interface. */
#pragma once

#include "event/core/head.h"
#include "event/core/packet.h"

/* On the way out a large packet is cut up between the first two, on the way in small ones are put together. */
enum dev_stage { DEV_SEND = 1, DEV_NIC_SEND, DEV_NIC_RECV, DEV_RECV };

struct dev_packet {
	char dev[PACKET_DEV_LEN];
	__u32 bytes;
	__u32 queue; /* EVENT_UNKNOWN32: the driver did not say */
	__u16 segs;
	__u8 stage;
	__u8 dir;
	__u32 unused;
};

struct dev_packet_event {
	struct event_head head;
	struct dev_packet data;
};
