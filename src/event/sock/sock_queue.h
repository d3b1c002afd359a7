/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* Receive queues of sockets: sock.queued, sock.overflow, udp.drop. */
#pragma once

#include "event/core/head.h"

struct sock_queued {
	__u64 recvq_bytes;
	__u64 rcvbuf;
	__u32 full; /* percent */
	__u32 unused;
};

struct sock_queued_event {
	struct event_head head;
	struct sock_queued data;
};

/* The limit that was reached. */
enum sock_limit { SOCK_LIMIT_RECEIVE_QUEUE = 1, SOCK_LIMIT_MEMORY_RECEIVE, SOCK_LIMIT_MEMORY_SEND };

struct sock_overflow {
	__u64 recvq_bytes;
	__u64 rcvbuf;
	__u64 sendq_bytes;
	__u64 sndbuf;
	__u8 reason;
	__u8 unused[7];
};

struct sock_overflow_event {
	struct event_head head;
	struct sock_overflow data;
};

struct udp_drop {
	__u64 recvq_bytes;
	__u64 rcvbuf;
	__u32 bytes; /* payload */
	__u8 reason;
	__u8 unused[3];
};

struct udp_drop_event {
	struct event_head head;
	struct udp_drop data;
};
