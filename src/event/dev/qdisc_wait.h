/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* qdisc.wait: queueing delay of a packet in a qdisc. */
#pragma once

#include "event/core/head.h"
#include "event/core/packet.h"

#define QDISC_KIND_LEN 16

struct qdisc_wait {
	__u64 lat_ns; /* EVENT_UNKNOWN64: enqueue not seen */
	char dev[PACKET_DEV_LEN];
	char kind[QDISC_KIND_LEN];
	__u32 handle; /* 0: default qdisc */
	__u32 bytes;
	__u32 qlen; /* packets left in the qdisc */
	__u16 segs; /* packets on the wire */
	__u8 split; /* segment of a GSO packet that the qdisc split */
	__u8 unused;
};

struct qdisc_wait_event {
	struct event_head head;
	struct qdisc_wait data;
};
