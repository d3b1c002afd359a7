/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an agent adds up per minute for the fleet: dropped packets and retransmissions by flow, traffic by path (remote
 * address) and by service (port and role). time_ns is the end of a row's minute, span_ns its length. Rows beyond a cap
 * are added up in rows without addresses and ports.
 */
#pragma once

#include "base/addr.h"
#include "record/field.h"

#define MINUTE_REASON 40
#define MINUTE_PLACE  48

struct drop_minute_record {
	uint64_t time_ns, span_ns;
	uint32_t netns;
	char reason[MINUTE_REASON];
	char place[MINUTE_PLACE];
	char dev[16];
	uint8_t dir, proto;
	struct addr laddr, raddr;
	uint16_t lport, rport;
	uint64_t packets, bytes;
};

struct retransmit_minute_record {
	uint64_t time_ns, span_ns;
	uint32_t netns;
	char kind[MINUTE_REASON];
	struct addr laddr, raddr;
	uint16_t lport, rport;
	uint64_t count, bytes;
};

/* Connections that are followed from sample to sample, and those that ended, which include short ones. */
struct traffic_figures {
	uint64_t connections, tx_bytes, rx_bytes, tx_segs, retrans_segs;
	uint64_t srtt_ns, srtt_max_ns, min_rtt_ns;
	uint64_t closed, failed, closed_tx_bytes, closed_rx_bytes, closed_retransmits;
};

struct path_minute_record {
	uint64_t time_ns, span_ns;
	uint32_t netns;
	struct addr raddr;
	struct traffic_figures f;
};

struct service_minute_record {
	uint64_t time_ns, span_ns;
	uint32_t netns;
	uint8_t role; /* enum tcp_role */
	uint16_t port;
	struct traffic_figures f;
	uint64_t answers, answer_ns;
};

extern const struct record_type drop_minute_type, retransmit_minute_type, path_minute_type, service_minute_type;
