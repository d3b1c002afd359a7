/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* tcp.hold: data that the application has written and TCP does not send yet. */
#pragma once

#include "event/core/head.h"

/* What held it, in the order in which TCP asks. */
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
	__u32 bytes; /* that waited when it began */
	__u32 seq;
	__u8 reason;
	__u8 unused[7];
};

struct tcp_hold_event {
	struct event_head head;
	struct tcp_hold data;
};
