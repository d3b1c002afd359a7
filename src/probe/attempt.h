/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Type "attempt": TCP connects of programs of this host that failed without an answer, by service, with running totals
 * since the first sample of a repeated request. Three kinds: those that failed before a packet was sent, with what the
 * kernel answers to a route lookup for them (no counter and no socket shows these), those without a free local port,
 * and those that were given up.
 *
 * A program that tries the next address of a name at once, and gets further with it, has not failed to send: most
 * hosts have names with addresses of a family that they do not use.
 */
#pragma once

#include "base/addr.h"
#include "record/field.h"

struct attempt_record {
	uint32_t netns;
	uint32_t pid; /* of the last program that tried */
	char comm[16];
	struct addr raddr;
	uint16_t rport;
	uint64_t attempts;                   /* that sent nothing */
	uint64_t portless;                   /* that found no free local port (EADDRNOTAVAIL) */
	uint64_t given_up, given_up_wait_ns; /* without an answer, and their mean wait */
	uint64_t answered;
	uint16_t error; /* errno of the route lookup; 0: there is a route */
};

extern const struct record_type attempt_type;
