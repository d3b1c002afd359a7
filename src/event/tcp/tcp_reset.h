/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* tcp.reset: a RST was sent or received. */
#pragma once

#include "event/core/head.h"
#include "event/core/packet.h"

/* What had been exchanged on the connection; data of this end, as both ends see it. */
enum tcp_reset_after {
	TCP_RESET_AFTER_SYN = 1,   /* not established */
	TCP_RESET_AFTER_NOTHING,   /* no data */
	TCP_RESET_AFTER_SENDING,   /* the last data was sent: a request without an answer */
	TCP_RESET_AFTER_RECEIVING, /* the last data was received, just now or as one of several exchanges */
	TCP_RESET_AFTER_ANSWER,    /* the last data was received a while ago, and there is nothing to wait for */
};

struct tcp_reset {
	__u32 reason; /* enum sk_rst_reason of the running kernel for sent resets; else unknown */
	__u8 dir;
	__u8 state; /* 0 without a socket */
	__u8 after; /* enum tcp_reset_after, of received resets */
	__u8 unused;
};

struct tcp_reset_event {
	struct event_head head;
	struct tcp_reset data;
};
