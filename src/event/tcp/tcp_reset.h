/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* tcp.reset: a RST was sent or received. */
#pragma once

#include "event/core/head.h"
#include "event/core/packet.h"

struct tcp_reset {
	__u32 reason; /* enum sk_rst_reason of the running kernel for sent resets; else unknown */
	__u8 dir;
	__u8 state; /* 0 without a socket */
	__u8 unused[2];
};

struct tcp_reset_event {
	struct event_head head;
	struct tcp_reset data;
};
