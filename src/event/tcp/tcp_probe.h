/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* tcp.probe: variables of a connection at each received segment. */
#pragma once

#include "event/core/head.h"

struct tcp_probe {
	__u64 srtt_ns;
	__u64 min_rtt_ns;
	__u32 cwnd;
	__u32 ssthresh;
	__u32 snd_wnd;
	__u32 rcv_wnd;
	__u32 peer_wnd; /* of the received segment */
	__u32 inflight_bytes;
	__u32 sendq_bytes;
	__u32 recvq_bytes;
	__u32 sndbuf;
	__u32 rcvbuf;
	__u32 wmem_bytes;
	__u32 bytes;
	__u32 seq;
	__u32 mss;
	__u8 congestion; /* enum tcp_congestion */
	__u8 unused[7];
};

struct tcp_probe_event {
	struct event_head head;
	struct tcp_probe data;
};
