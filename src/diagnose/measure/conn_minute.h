/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a TCP connection has sent and received so far, once per minute: the rows that a fleet keeps of
 * connections that go on. Counters since its start: two rows of one end give what happened between them, rows of both
 * ends what was lost between those (end_track.h).
 */
#pragma once

#include "snapshot/core/snapshot.h"
#include "snapshot/socket/socket.h"

struct conn_minute_record {
	uint64_t time_ns;
	uint32_t netns;
	uint64_t cookie;
	struct addr laddr, raddr;
	uint16_t lport, rport;
	uint32_t pid;
	char comm[16];
	uint8_t state;
	uint64_t tx_bytes, retrans_bytes, acked_bytes, rx_bytes;
	uint32_t tx_segs, retrans_segs, rx_segs;
	uint64_t srtt_ns, min_rtt_ns;
	uint64_t rwnd_limited_ns, sndbuf_limited_ns;
	uint32_t recvq_bytes, sendq_bytes;
	/* When; unknown: never. */
	uint64_t sent_time_ns, received_time_ns, acked_time_ns;
};

extern const struct record_type conn_minute_type;

/* False: not a TCP connection whose counters are known. */
bool conn_minute_fill(const struct snapshot *snapshot, const struct socket_record *socket,
		      struct conn_minute_record *ret_minute);
/* A sample with this connection alone, for end_pairs_add. */
void conn_minute_show(const struct conn_minute_record *minute, struct snapshot *snapshot);
