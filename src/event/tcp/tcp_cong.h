/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* tcp.cong: change of the congestion state. */
#pragma once

#include "event/core/head.h"

/* The kernel's numbers. */
enum tcp_congestion { TCP_CONG_OPEN, TCP_CONG_DISORDER, TCP_CONG_CWR, TCP_CONG_RECOVERY, TCP_CONG_LOSS };

#define TCP_CONG_UNKNOWN 0xff

struct tcp_cong {
	__u64 span_ns; /* in the old state */
	__u32 cwnd;
	__u32 ssthresh;
	__u8 old_congestion;
	__u8 new_congestion; /* unknown at the close */
	__u8 unused[6];
};

struct tcp_cong_event {
	struct event_head head;
	struct tcp_cong data;
};
