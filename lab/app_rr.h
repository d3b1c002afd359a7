/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Request and response on one connection. A request says in its first bytes how long it is and how long an answer it
 * wants, so one server (rrd) serves every client: rr, chat, churn.
 */
#pragma once

#include "app_conn.h"

/* Both lengths, big endian, 32 bits each; they are part of the request's length. */
#define RR_HEADER_LEN 8u
#define RR_LEN_MAX    ((uint64_t)64 << 20)

struct exchange {
	uint32_t size;
	uint32_t resp;
	uint32_t sent;
	uint32_t got;
	uint64_t began_ns;
	bool is_running;
	bool in_two;    /* the request goes out in two writes */
	bool is_corked; /* TCP_CORK is on */
};

/* Begins an exchange; size is at least RR_HEADER_LEN. */
void exchange_begin(struct exchange *x, uint64_t size, uint64_t resp);
/*
 * Moves it on as far as it goes. 1: complete (the latency has been counted as an operation), 0: under way, negative
 * errno: failed. Sets what the connection waits for.
 */
int exchange_run(struct conn *conn, struct exchange *x) _must_check_;
