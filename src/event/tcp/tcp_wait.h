/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* tcp.wait: time that received data waits for its reader. */
#pragma once

#include "event/core/head.h"

struct tcp_wait {
	__u64 lat_ns;
	__u32 bytes; /* of one read */
	__u32 unused;
};

struct tcp_wait_event {
	struct event_head head;
	struct tcp_wait data;
};
