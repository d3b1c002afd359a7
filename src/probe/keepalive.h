/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A silent connection may be idle, or its path may be dead: one end cannot distinguish the two. So nest probes the peer
 * like TCP keepalive: a segment without data, with a sequence number already acknowledged, which every TCP must
 * acknowledge. The same tells what becomes of the segments of a stuck connection, whose own retransmissions are seconds
 * apart. Type "keepalive", one record per probed connection.
 */
#pragma once

#include "snapshot/core/snapshot.h"

struct keepalive_record {
	uint32_t netns;
	uint64_t cookie; /* of the socket */
	struct addr raddr;
	uint16_t lport, rport;
	uint32_t asked;
	uint32_t unanswered;    /* of these, without a reply in time */
	uint32_t forbidden;     /* of these, dropped by a filter of this host */
	bool answered;          /* a segment was received since */
	uint32_t missing_bytes; /* sent by the peer and not received, by its reply; SOCKET_NONE: unknown */
};

extern const struct record_type keepalive_type;

struct keepalive_answer;
/* Writes the keep-alive segment with IP header, at most KEEPALIVE_MAX bytes; returns its length. */
#define KEEPALIVE_MAX 80
struct socket_record;
size_t keepalive_segment(const struct socket_record *socket, const struct keepalive_answer *known, uint8_t *segment);
