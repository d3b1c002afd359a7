/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two programs that work together, a proxy and the server behind it, each with a trace of its own, on one time line.
 * Their connections are matched by the endpoints, what is sent by how many bytes went before it, the clocks by the
 * exchange itself: nothing arrives before it was sent. Each request's time is then split between proxy, network and
 * server.
 */
#pragma once

#include "flow/analyse/session.h"

enum align_side { ALIGN_PROXY, ALIGN_NETWORK, ALIGN_SERVER };

/* A request that went through both: align_exchange_type. */
struct align_exchange {
	uint32_t exchange;      /* from 1, in the order of time */
	uint32_t proxy_session; /* 0: not known */
	uint32_t server_session;
	uint64_t start_ns; /* by the proxy's clock */
	uint64_t total_ns;
	uint64_t proxy_ns; /* all bits set: not known, the client's side was not seen */
	uint64_t network_ns, server_ns;
	uint64_t rx_bytes, tx_bytes; /* of the server */
	uint8_t slowest;             /* enum align_side */

	/* Not shown: by the proxy's clock. */
	uint64_t sent_ns, received_ns, answered_ns, returned_ns;
	uint64_t read_start_ns, back_start_ns; /* when the server began to read, and the proxy */
};

extern const struct record_type align_exchange_type;

/* align_type */
struct align {
	const char *answer;   /* one sentence */
	uint32_t connections; /* that the proxy made */
	uint32_t matched;     /* of them, also in the server's trace */
	uint32_t exchanges;
	int64_t clock_offset_ns;                  /* of the server's clock against the proxy's */
	double clock_drift;                       /* and how much it grows a second; 0: they run alike */
	uint64_t proxy_ns, network_ns, server_ns; /* of all exchanges */
	uint8_t slowest;
	const char *function; /* in which the slowest side spends most of its time; NULL: not known */

	/* Not shown. */
	VEC(struct align_exchange) list;
	char *answer_text;
};

extern const struct record_type align_type;

/* -ENODATA with a sentence when no connection of the proxy is in the server's trace. */
int align_new(struct flow_sessions *proxy, struct flow_sessions *server, struct align **ret_align,
	      struct why *why) _must_check_;
/* A moment of the server's clock by the proxy's. */
uint64_t align_proxy_ns(const struct align *align, uint64_t server_ns);
void align_free(struct align *align);

static inline void align_freep(struct align **align)
{
	align_free(*align);
}
