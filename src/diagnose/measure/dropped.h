/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packets of a socket or flow that this host itself dropped, by cause; and flows that have no socket here. */
#pragma once

#include "base/addr.h"
#include "record/field.h"

/* Counts are of this window and the three before: retries back off. */
struct dropped_measures {
	uint64_t drop_count;  /* all of the classes below */
	uint64_t drop_window; /* the same, in this window alone */
	uint64_t drop_span_ns;
	uint64_t drop_firewall, drop_reject, drop_conntrack, drop_invalid;
	uint64_t drop_tc, drop_qdisc, drop_rp_filter;
	uint64_t drop_neigh, drop_route, drop_blackhole, drop_too_big;
	uint64_t drop_buffer, drop_memory, drop_accept, drop_damaged, drop_port, drop_unforwarded;
	bool route_refused;    /* a lookup of the route to the destination said so */
	bool drop_stops;       /* the connection does not move */
	bool drop_established; /* not only the first packets of connections */
	bool drop_retried;     /* repeatedly, to one service */
	bool drop_awaited;     /* answers of a UDP service to sockets that are still open */
	bool drop_near;        /* the sender is no stranger by its address: this network, a private one, this host */
	uint8_t drop_known;    /* one of the senders had a connection with this host before */
	uint64_t drop_served;  /* of a listener: connections of other hosts */
	uint64_t host_accepts; /* connections that were accepted meanwhile, by any listener */
	bool drop_explains;    /* as much as the connection retransmits, or what is missing in its input */
	uint64_t drop_sources; /* of a listener or UDP socket: remote hosts whose packets are dropped */
	struct addr drop_source;
	struct addr drop_target;
	char drop_reason[32];
	char drop_dev[16];
	char drop_rule[160];
};

/* Traffic without a socket here, most of it forwarded. */
struct flow_measures {
	uint8_t flow_proto;
	struct addr flow_source, flow_target;
	uint16_t flow_sport, flow_dport;
	bool forwarded;
	char dev[16]; /* where it was dropped, or would leave if that had a link */
	char qdisc_kind[16];
};

extern const struct record_type dropped_measures_type, flow_measures_type;
