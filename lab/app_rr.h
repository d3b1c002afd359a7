/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Request and response on one connection. A request starts with its length and the length of the response, so one
 * server (rrd) serves all clients: rr, chat, churn.
 */
#pragma once

#include "app_conn.h"

/* Both lengths, 32 bits big endian; included in the request length. */
#define RR_HEADER_LEN 8u
#define RR_LEN_MAX    ((uint64_t)64 << 20)

struct exchange {
	uint32_t size;
	uint32_t resp;
	uint32_t greet; /* bytes of the server's greeting still to come, before the request */
	uint32_t sent;
	uint32_t got;
	uint64_t began_ns;
	bool is_running;
	bool in_two;    /* send the request in two writes */
	bool is_corked; /* TCP_CORK is on */
};

/* Starts an exchange; size is at least RR_HEADER_LEN. */
void exchange_begin(struct exchange *x, uint64_t size, uint64_t resp);
/*
 * Continues an exchange. 1: complete (counted as an operation with its latency), 0: in progress, negative errno:
 * failed. Sets the events to wait for.
 */
int exchange_run(struct conn *conn, struct exchange *x) _must_check_;
