/* SPDX-License-Identifier: GPL-2.0-only */
/* Figures of one direction of a forwarded TCP connection, shared with the BPF program. */
#pragma once

#include <linux/types.h>

struct passing_key {
	__u32 netns;
	__u32 ifindex; /* it leaves by: a packet may pass several on top of each other */
	__u32 source[4], target[4];
	__u16 sport, dport;
	__u16 family;
	__u16 unused;
};

struct passing_figures {
	__u64 packets;
	__u64 segments; /* with data */
	__u64 bytes;    /* of data */
	__u64 repeats;  /* segments with data that passed before */
	__u64 fills;    /* segments with data that was missing when later data passed */
	__u64 repeat_bytes, fill_bytes;
	__u64 reordered; /* the same, too soon to be a retransmission */
	__u64 syns;      /* without ACK */
	__u64 first_ns, last_ns;
	__u64 gap_ns;  /* when data was found missing last */
	__u32 next;    /* highest sequence number, and one beyond */
	__u32 missing; /* bytes before it */
};
