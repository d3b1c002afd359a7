/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packets that arrive at an interface but never reach their connection: this host drops them in between. Type
 * "arrival", one record per silent connection. A packet socket sees packets before any firewall rule; their number is
 * compared with what the connection received.
 */
#pragma once

#include "snapshot/core/snapshot.h"

struct arrival_record {
	uint32_t netns;
	uint64_t cookie; /* of the socket */
	struct addr raddr;
	uint16_t lport, rport;
	uint64_t arrived;     /* packets at the interface since the connection last received a segment */
	uint64_t undelivered; /* of these, overdue at the connection */
};

extern const struct record_type arrival_type;
