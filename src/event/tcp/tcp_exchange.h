/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* tcp.exchange: a request and its answer on a TCP connection. */
#pragma once

#include "event/core/head.h"

enum tcp_exchange_outcome {
	TCP_EXCHANGE_ANSWERED = 1,
	TCP_EXCHANGE_CLOSED,
	TCP_EXCHANGE_PEER_CLOSED,
	TCP_EXCHANGE_RESET,
	TCP_EXCHANGE_TIMED_OUT,
	TCP_EXCHANGE_OPEN,
};

struct tcp_exchange {
	__u64 lat_ns;
	__u64 srtt_ns;
	__u64 min_rtt_ns;
	__u32 request_bytes;
	__u32 answer_bytes;
	struct addr service; /* of the peer; none at the server */
	__u8 role;           /* enum tcp_role */
	__u16 service_port;
	__u8 outcome;
	__u8 unused[3];
};

_Static_assert(sizeof(struct tcp_exchange) == 56 && __builtin_offsetof(struct tcp_exchange, service) == 32,
	       "the service is three words: set_service");

struct tcp_exchange_event {
	struct event_head head;
	struct tcp_exchange data;
};
