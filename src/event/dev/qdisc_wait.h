/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* qdisc.wait: how long packets stay in the queue of an interface. */
#pragma once

#include "event/core/head.h"
#include "event/core/packet.h"

#define QDISC_KIND_LEN 16

struct qdisc_wait {
	__u64 lat_ns; /* EVENT_UNKNOWN64: its coming was not seen */
	char dev[PACKET_DEV_LEN];
	char kind[QDISC_KIND_LEN];
	__u32 handle; /* 0: the kernel made it, it has none */
	__u32 bytes;
	__u32 qlen; /* packets that it left behind */
	__u16 segs; /* in which it will be sent */
	__u8 split; /* a piece of a packet that the queue cut up */
	__u8 unused;
};

struct qdisc_wait_event {
	struct event_head head;
	struct qdisc_wait data;
};
