/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* dev.hold: a transmit queue was stopped. */
#pragma once

#include "event/core/head.h"
#include "event/core/packet.h"

/* The bits of the kernel's netdev_queue_state_t that stop a queue. */
enum dev_hold_by { DEV_HOLD_DRIVER = 1, DEV_HOLD_BQL, DEV_HOLD_BOTH };

struct dev_hold {
	__u64 lat_ns;
	char dev[PACKET_DEV_LEN];
	__u32 queue;
	__u32 limit;    /* bytes; EVENT_UNKNOWN32: not stopped by BQL */
	__u32 inflight; /* bytes; EVENT_UNKNOWN32: not stopped by BQL */
	__u8 by;
	__u8 unused[3];
};

struct dev_hold_event {
	struct event_head head;
	struct dev_hold data;
};
