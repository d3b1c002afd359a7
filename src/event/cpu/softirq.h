/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* softirq, irq, napi.poll: softirq runs, interrupt handlers, NAPI polls. */
#pragma once

#include "event/core/head.h"
#include "event/core/packet.h"

/* The kernel's numbers, the same since Linux 2.6. */
enum softirq_vec { SOFTIRQ_NET_TX = 2, SOFTIRQ_NET_RX = 3, SOFTIRQ_COUNT = 10 };

/* packets, squeezed, dropped, backlog: NET_RX only; EVENT_UNKNOWN32 otherwise and if unavailable. */
struct softirq {
	__u64 lat_ns; /* EVENT_UNKNOWN64: raise not seen */
	__u64 run_ns;
	__u32 packets;
	__u32 squeezed;
	__u32 dropped;
	__u32 backlog;
	__u8 vec;
	__u8 unused[7];
};

struct softirq_event {
	struct event_head head;
	struct softirq data;
};

#define IRQ_NAME_LEN 24

struct irq {
	__u64 lat_ns;
	char name[IRQ_NAME_LEN];
	__u32 irq;
	__u8 vec; /* that it raises; 0xff: none seen */
	__u8 result;
	__u8 unused[2];
};

struct irq_event {
	struct event_head head;
	struct irq data;
};

struct napi_poll {
	__u64 lat_ns; /* EVENT_UNKNOWN64: unknown, also run_ns */
	__u64 run_ns;
	char dev[PACKET_DEV_LEN];
	__u32 napi_id;
	__u32 packets;
	__u32 budget;
	__u32 unused;
};

struct napi_poll_event {
	struct event_head head;
	struct napi_poll data;
};
