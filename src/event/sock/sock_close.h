/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* sock.close, udp.close: the application closed a socket; its bytes and calls. */
#pragma once

#include "event/core/head.h"

struct sock_close {
	__u64 span_ns;
	__u64 tx_bytes;
	__u64 rx_bytes;
	__u64 sends;
	__u64 receives;
};

struct sock_close_event {
	struct event_head head;
	struct sock_close data;
};
