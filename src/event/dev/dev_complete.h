/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* dev.complete: transmit completion of a packet by the driver. */
#pragma once

#include "event/core/head.h"
#include "event/core/packet.h"

enum dev_complete_end { DEV_CONSUMED = 1, DEV_FREED, DEV_HANDED_ON };

struct dev_complete {
	__u64 lat_ns;
	char dev[PACKET_DEV_LEN];
	__u32 queue;
	__u32 bytes;
	__u8 end;
	__u8 unused[7];
};

struct dev_complete_event {
	struct event_head head;
	struct dev_complete data;
};
