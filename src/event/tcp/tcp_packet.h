/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* tcp.packet: TCP packets that this host transmits or receives. */
#pragma once

#include "event/core/head.h"
#include "event/core/packet.h"

struct tcp_packet {
	char dev[PACKET_DEV_LEN];
	__u32 bytes;
	__u32 seq;
	__u32 ack;
	__u16 window;
	__u8 dir;
	__u8 flags;
	__u16 gso_bytes; /* 0: no GSO */
	__u16 unused[3];
};

struct tcp_packet_event {
	struct event_head head;
	struct tcp_packet data;
};
