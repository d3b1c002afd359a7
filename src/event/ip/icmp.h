/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* icmp.error: ICMP error about a packet. icmp.echo: a ping and its reply. */
#pragma once

#include "event/core/head.h"
#include "event/core/packet.h"

/* The same numbers for IPv4 and IPv6. */
enum icmp_kind {
	ICMP_KIND_NET = 1,
	ICMP_KIND_HOST,
	ICMP_KIND_PROTO,
	ICMP_KIND_PORT,
	ICMP_KIND_FRAG_NEEDED,
	ICMP_KIND_PROHIBITED,
	ICMP_KIND_UNREACHABLE, /* other reason */
	ICMP_KIND_TTL,
	ICMP_KIND_REASSEMBLY,
	ICMP_KIND_PARAMETER,
	ICMP_KIND_REDIRECT,
	ICMP_KIND_QUENCH,
};

struct icmp_error {
	__u32 mtu;        /* of the next hop; 0: not given */
	__u32 error;      /* errno delivered to the socket; 0: none */
	__u32 soft_error; /* soft error (errno) of the socket */
	__u32 unused2;
	char dev[PACKET_DEV_LEN];
	struct addr sender; /* sender of the message */
	__u8 dir;
	__u8 kind;
	__u8 type;
	__u8 code;
	__u8 unused[3];
};

struct icmp_error_event {
	struct event_head head;
	struct icmp_error data;
};

struct icmp_echo {
	__u64 lat_ns;   /* from transmit to arrival of the reply, both in the kernel */
	__u64 stack_ns; /* then to the socket */
	__u64 sched_ns; /* then to the program */
	char dev[PACKET_DEV_LEN];
	__u32 error;
	__u32 bytes;
	__u16 id;
	__u16 seq;
	__u8 ttl;
	__u8 unused[3];
};

struct icmp_echo_event {
	struct event_head head;
	struct icmp_echo data;
};
