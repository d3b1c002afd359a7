/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Segments that arrive at an interface and never at their connection: something in between on this host takes them
 * away. Type "arrival", one a connection that has fallen silent; looked for by a packet socket, which sees what arrives
 * before any rule of a firewall does, and compared with what the connection has received.
 */
#pragma once

#include "snapshot/core/snapshot.h"

struct arrival_record {
	uint32_t netns;
	uint64_t cookie; /* of the connection */
	struct addr raddr;
	uint16_t lport, rport;
	uint64_t arrived;     /* packets at the interface since it last received anything */
	uint64_t undelivered; /* of these, those that should have reached the connection by now */
};

extern const struct record_type arrival_type;
