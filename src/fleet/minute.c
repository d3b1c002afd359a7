/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/minute.h"

#include "event/core/packet_names.h"
#include "event/tcp/tcp_role.h"
#include "record/net_names.h"

#define MINUTE_FIELDS(type)                                                                                            \
	FIELD(type, time_ns, TIME, "end of the minute"), FIELD(type, span_ns, DURATION, "its length"),                 \
		FIELD(type, netns, ID, "network namespace", .zero_is_unknown = true)

#define FLOW_FIELDS(type)                                                                                              \
	FIELD(type, laddr, ADDR, "local address"), FIELD(type, lport, ID, "local port", .zero_is_unknown = true),      \
		FIELD(type, raddr, ADDR, "remote address"),                                                            \
		FIELD(type, rport, ID, "remote port", .zero_is_unknown = true)

#define FIGURE(type, member, kind, help) FIELD_AS(type, f.member, #member, kind, help)

#define TRAFFIC_FIELDS(type)                                                                                           \
	FIGURE(type, connections, COUNT, "TCP connections that were followed"),                                        \
		FIGURE(type, tx_bytes, BYTES, "sent by these, without retransmissions"),                               \
		FIGURE(type, rx_bytes, BYTES, "received by these"),                                                    \
		FIGURE(type, tx_segs, COUNT, "segments with data sent by these, retransmissions included"),            \
		FIGURE(type, retrans_segs, COUNT, "segments retransmitted by these"),                                  \
		FIGURE(type, srtt_ns, DURATION, "mean of their smoothed RTTs, sampled once per second"),               \
		FIGURE(type, srtt_max_ns, DURATION, "highest of these"),                                               \
		FIGURE(type, min_rtt_ns, DURATION, "lowest minimum RTT"),                                              \
		FIGURE(type, closed, COUNT, "connections that ended, short ones included"),                            \
		FIGURE(type, failed, COUNT, "of these, ended by an error or never established"),                       \
		FIGURE(type, closed_tx_bytes, BYTES, "sent by connections that ended, since their start"),             \
		FIGURE(type, closed_rx_bytes, BYTES, "received by connections that ended, since their start"),         \
		FIGURE(type, closed_retransmits, COUNT, "segments retransmitted by connections that ended")

#define D struct drop_minute_record
static const struct field drop_minute_fields[] = {
	MINUTE_FIELDS(D),
	FIELD(D, reason, TEXT, "kernel's drop reason; NOT_SPECIFIED if it gives none"),
	FIELD(D, place, TEXT, "kernel function that dropped them, where the reason is not specific"),
	FIELD(D, dev, TEXT, "interface"),
	FIELD(D, dir, ENUM, "direction", .names = &packet_dir_names, .zero_is_unknown = true),
	FIELD(D, proto, ENUM, "protocol", .names = &socket_proto_names, .zero_is_unknown = true),
	FLOW_FIELDS(D),
	FIELD(D, packets, COUNT, "dropped packets"),
	FIELD(D, bytes, BYTES, "their length"),
};
#undef D
RECORD_TYPE(drop_minute_type, "drop_minute", struct drop_minute_record, drop_minute_fields,
	    "dropped packets of a flow, added up per minute");

#define R struct retransmit_minute_record
static const struct field retransmit_minute_fields[] = {
	MINUTE_FIELDS(R),
	FIELD(R, kind, TEXT, "cause: fast, timeout, probe, syn, synack"),
	FLOW_FIELDS(R),
	FIELD(R, count, COUNT, "retransmissions"),
	FIELD(R, bytes, BYTES, "their payload"),
};
#undef R
RECORD_TYPE(retransmit_minute_type, "retransmit_minute", struct retransmit_minute_record, retransmit_minute_fields,
	    "TCP retransmissions of a connection, added up per minute");

#define P struct path_minute_record
static const struct field path_minute_fields[] = {
	MINUTE_FIELDS(P),
	FIELD(P, raddr, ADDR, "remote address; unknown: those beyond the cap"),
	TRAFFIC_FIELDS(P),
};
#undef P
RECORD_TYPE(path_minute_type, "path_minute", struct path_minute_record, path_minute_fields,
	    "TCP traffic with a remote address, per minute");

#define S struct service_minute_record
static const struct field service_minute_fields[] = {
	MINUTE_FIELDS(S),
	FIELD(S, role, ENUM, "server: the port is one of this host", .names = &tcp_role_names, .zero_is_unknown = true),
	FIELD(S, port, ID, "port of the service; unknown: those beyond the cap", .zero_is_unknown = true),
	TRAFFIC_FIELDS(S),
	FIELD(S, answers, COUNT, "replies whose time is known"),
	FIELD(S, answer_ns, DURATION, "mean time from request to reply of these"),
};
#undef S
RECORD_TYPE(service_minute_type, "service_minute", struct service_minute_record, service_minute_fields,
	    "TCP traffic of a service, per minute");
