/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A sock_diag reply about a TCP socket, from the kernel or from sock_decode.c. */
#pragma once

#include <linux/inet_diag.h>
#include <linux/tcp.h>

#include "snapshot/socket/socket.h"

/* Size in Linux 5.15. Newer kernels append members, of which <linux/tcp.h> names some or all. */
#define TCP_INFO_BASE (offsetof(struct tcp_info, tcpi_snd_wnd) + sizeof(uint32_t))

struct tcp_info_wire {
	union {
		struct tcp_info base;
		struct {
			char base_of_5_15[TCP_INFO_BASE];
			uint32_t rcv_wnd;
			uint32_t rehash;
			uint16_t total_rto;
			uint16_t total_rto_recoveries;
			uint32_t total_rto_time;
		};
	};
};
_Static_assert(offsetof(struct tcp_info_wire, rcv_wnd) == TCP_INFO_BASE, "later members follow the ones of 5.15");

#define SOCKET_MEMORY_WORDS 9 /* SK_MEMINFO_* of linux/sock_diag.h */

struct socket_answer {
	struct inet_diag_msg msg;
	uint32_t memory[SOCKET_MEMORY_WORDS];
	uint32_t mark;
	uint64_t cgroup_id;
	uint8_t shutdown;
	size_t info_len; /* valid bytes of info; 0: none */
	struct tcp_info_wire info;
	char cc[16];
	uint8_t order; /* enum tcp_order */
	bool has_bbr;
	struct tcp_bbr_info bbr;
};

void socket_add_answer(const struct snapshot *snapshot, const struct socket_parse *context,
		       const struct socket_answer *answer);
