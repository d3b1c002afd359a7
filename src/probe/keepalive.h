/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A connection that has fallen silent may have nothing to say, or its path may be dead: from one end both look the
 * same. So its peer is asked as TCP itself would ask after a long silence: by a segment without data whose number has
 * been acknowledged already, which any host must acknowledge again. Type "keepalive", one a connection that was asked.
 */
#pragma once

#include "snapshot/core/snapshot.h"

struct keepalive_record {
	uint32_t netns;
	uint64_t cookie; /* of the connection */
	struct addr raddr;
	uint16_t lport, rport;
	uint32_t asked;
	uint32_t unanswered; /* of these, those that have waited for an answer long enough */
	uint32_t forbidden;  /* of these, those that a filter of this host did not let pass */
	bool answered;       /* something has arrived since it was asked */
	uint32_t
		missing_bytes; /* by its answer, the peer has sent so much that has not arrived; SOCKET_NONE: unknown */
};

extern const struct record_type keepalive_type;

struct keepalive_answer;
/* The segment, from the IP header on, of what would be asked; its length. Room for KEEPALIVE_MAX bytes. */
#define KEEPALIVE_MAX 80
struct socket_record;
size_t keepalive_segment(const struct socket_record *socket, const struct keepalive_answer *known, uint8_t *segment);
