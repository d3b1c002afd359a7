/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* tcp.hold: written data that TCP does not send yet. */
#pragma once

#include "event/core/head.h"

/* What holds the data, in the order of TCP's checks. */
enum tcp_hold_reason {
	TCP_HOLD_PACING = 1,
	TCP_HOLD_CWND,
	TCP_HOLD_WINDOW,
	TCP_HOLD_CORK,
	TCP_HOLD_NAGLE,
	TCP_HOLD_QUEUE
};

struct tcp_hold {
	__u64 lat_ns;
	__u32 bytes; /* held at the start of the wait */
	__u32 seq;
	__u8 reason;
	__u8 unused[7];
};

struct tcp_hold_event {
	struct event_head head;
	struct tcp_hold data;
};
