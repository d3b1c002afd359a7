/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traces of two cooperating programs, a proxy and the server behind it, on one timeline. Connections are matched by
 * endpoints, messages by byte position, the clocks by causality: nothing arrives before it was sent. Each request's
 * time is then split between proxy, network and server.
 */
#pragma once

#include "flow/analyse/session.h"

enum align_side { ALIGN_PROXY, ALIGN_NETWORK, ALIGN_SERVER };

/* A request that passed both: align_exchange_type. */
struct align_exchange {
	uint32_t exchange;      /* from 1, in order of time */
	uint32_t proxy_session; /* 0: unknown */
	uint32_t server_session;
	uint64_t start_ns; /* proxy's clock */
	uint64_t total_ns;
	uint64_t proxy_ns; /* all bits set: unknown, the client side was not seen */
	uint64_t network_ns, server_ns;
	uint64_t rx_bytes, tx_bytes; /* of the server */
	uint8_t slowest;             /* enum align_side */

	/* Not shown: on the proxy's clock. */
	uint64_t sent_ns, received_ns, answered_ns, returned_ns;
	uint64_t read_start_ns, back_start_ns; /* when the server, and the proxy, started to read */
};

extern const struct record_type align_exchange_type;

/* align_type */
struct align {
	const char *answer;   /* one sentence */
	uint32_t connections; /* opened by the proxy */
	uint32_t matched;     /* of these, also in the server's trace */
	uint32_t exchanges;
	int64_t clock_offset_ns;                  /* of the server's clock from the proxy's */
	double clock_drift;                       /* growth of the offset per second; 0: same rate */
	uint64_t proxy_ns, network_ns, server_ns; /* of all exchanges */
	uint8_t slowest;
	const char *function; /* in which the slowest side spends most of its time; NULL: unknown */

	/* Not shown. */
	VEC(struct align_exchange) list;
	char *answer_text;
};

extern const struct record_type align_type;

/* -ENODATA with a reason when no connection of the proxy is in the server's trace. */
int align_new(struct flow_sessions *proxy, struct flow_sessions *server, struct align **ret_align,
	      struct why *why) _must_check_;
/* Converts a time of the server's clock to the proxy's. */
uint64_t align_proxy_ns(const struct align *align, uint64_t server_ns);
void align_free(struct align *align);

static inline void align_freep(struct align **align)
{
	align_free(*align);
}
