/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* tcp.backlog: a connection has joined those that wait to be accepted. */
#pragma once

#include "event/core/head.h"

struct tcp_backlog {
	__u32 backlog; /* with the new one */
	__u32 backlog_max;
	__u32 syn_backlog; /* requests whose handshake is under way */
	__u32 drops;
};

struct tcp_backlog_event {
	struct event_head head;
	struct tcp_backlog data;
};
