/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sends the segments of a spool, oldest first, to ClickHouse or to a collector, and removes what has arrived. A failure
 * is retried with growing, jittered pauses, for ever. What was sent without an answer is looked for before it is
 * repeated, so that a lost reply does not double rows.
 *
 * ClickHouse: the database, tables and missing columns are made on demand; batches of a table go into one insert.
 */
#pragma once

#include "fleet/spool.h"
#include "fleet/transfer.h"

struct sender;

struct sender_options {
	const struct fleet_url *url; /* stays the caller's */
	const char *ca_file;         /* or NULL */
	const char *token;           /* for a collector, or NULL */
	/* May be NULL. The server is unreachable, recovered, refused rows: a sentence for a person, once per change. */
	void (*report)(void *context, const char *text);
	/* May be NULL. Everything in the spool was sent. */
	void (*idle)(void *context);
	void *context;
};

struct sender_figures {
	uint64_t rows_sent;    /* that the server has accepted */
	uint64_t rows_known;   /* that it had already */
	uint64_t rows_refused; /* that it will never accept: dropped */
	uint64_t bytes_sent;   /* of accepted requests, compressed */
	uint64_t requests;     /* that carried rows and were accepted */
	uint64_t failures;     /* requests that failed */
};

int sender_new(struct loop *loop, struct spool *spool, const struct sender_options *options, struct sender **ret_sender,
	       struct why *why) _must_check_;
/* The rest stays in the spool. */
void sender_free(struct sender *sender);
/* Something was added to the spool. */
void sender_wake(struct sender *sender);
/* Outside the loop, at the end of a run: sends what it can in this time; ends early when the server is away. */
void sender_drain(struct sender *sender, uint64_t limit_ns);
/* Nothing is under way and nothing waits. */
bool sender_is_idle(const struct sender *sender);
const struct sender_figures *sender_look(const struct sender *sender);
/* Why the last request failed; "" while it works. */
const char *sender_why(const struct sender *sender);
