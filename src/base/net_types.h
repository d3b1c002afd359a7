/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Network addresses in records, shared by BPF programs and user space. */
#pragma once

#include <linux/types.h>

enum addr_family { ADDR_UNKNOWN = 0, ADDR_V4 = 4, ADDR_V6 = 6 };

struct addr {
	__u8 bytes[16]; /* network order, IPv4 as v4-mapped; all zero when the family is ADDR_UNKNOWN */
	__u8 family;    /* enum addr_family */
};

struct endpoint {
	struct addr addr;
	__u16 port; /* host order; 0 = none */
};

/* Kernel numbers; UDP uses the states of TCP (ESTABLISHED: connected, CLOSE: not connected). */
enum socket_state {
	SOCKET_ESTABLISHED = 1,
	SOCKET_SYN_SENT,
	SOCKET_SYN_RECV,
	SOCKET_FIN_WAIT1,
	SOCKET_FIN_WAIT2,
	SOCKET_TIME_WAIT,
	SOCKET_CLOSE,
	SOCKET_CLOSE_WAIT,
	SOCKET_LAST_ACK,
	SOCKET_LISTEN,
	SOCKET_CLOSING,
	SOCKET_NEW_SYN_RECV,
	SOCKET_STATES,
};
