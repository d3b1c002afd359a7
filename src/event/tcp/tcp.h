/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* Events of TCP connections. */
#pragma once

#include "event/core/head.h"

struct tcp_state {
	__u64 span_ns; /* in the old state */
	__u8 oldstate;
	__u8 newstate;
	__u8 unused[6];
};

struct tcp_state_event {
	struct event_head head;
	struct tcp_state data;
};

/* Which end opened the connection. */
enum tcp_role { TCP_ROLE_CLIENT = 1, TCP_ROLE_SERVER };

struct tcp_close {
	__u64 tx_bytes;
	__u64 rx_bytes;
	__u64 span_ns;
	__u64 srtt_ns;
	__u64 min_rtt_ns;
	__u32 retransmits;
	__u32 error;
	__u8 state; /* before the close */
	__u8 role;
	__u8 unused[6];
};

struct tcp_close_event {
	struct event_head head;
	struct tcp_close data;
};

/* Cause of a retransmission. */
enum tcp_retransmit_kind {
	TCP_RETRANSMIT_FAST = 1,
	TCP_RETRANSMIT_TIMEOUT,
	TCP_RETRANSMIT_PROBE,
	TCP_RETRANSMIT_SYN,
	TCP_RETRANSMIT_SYNACK
};

struct tcp_retransmit {
	__u32 seq;
	__u32 bytes;
	__u32 error; /* of the transmission on this host */
	__u32 cwnd;
	__u64 srtt_ns;
	__u8 kind;
	__u8 state;
	__u16 segs;
	__u8 unused[4];
};

struct tcp_retransmit_event {
	struct event_head head;
	struct tcp_retransmit data;
};
