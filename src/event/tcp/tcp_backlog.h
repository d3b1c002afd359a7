/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* tcp.backlog: a connection enters an accept queue. */
#pragma once

#include "event/core/head.h"

struct tcp_backlog {
	__u32 backlog; /* including the new one */
	__u32 backlog_max;
	__u32 syn_backlog; /* SYN queue */
	__u32 drops;
};

struct tcp_backlog_event {
	struct event_head head;
	struct tcp_backlog data;
};
