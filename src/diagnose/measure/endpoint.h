/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sockets that are no connections: listeners and UDP sockets. */
#pragma once

#include "base/addr.h"
#include "record/field.h"

struct listener_measures {
	struct addr laddr;
	uint16_t lport;
	uint64_t samples;
	uint64_t backlog, backlog_min, backlog_peak, backlog_max;
	double full_share, backlog_share;
	uint64_t drops_count;
};

struct udp_measures {
	struct addr laddr, raddr;
	uint16_t lport, rport;
	uint64_t samples;
	uint64_t recvq_min_bytes, recvq_max_bytes;
	uint64_t sendq_max_bytes;
	uint64_t rcvbuf;
	double recvq_share, recvq_fill_max;
	bool recvq_read, recvq_emptied;
	uint64_t unread_recent_ns;
	uint64_t drops_count;
};

extern const struct record_type listener_measures_type, udp_measures_type;
