/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events of TCP connections: fields and hooks. */
#include "event/tcp/tcp.h"
#include "event/core/event.h"
#include "event/tcp/tcp_role.h"
#include "record/net_names.h"

#define S struct tcp_state
static const struct field state_fields[] = {
	FIELD(S, oldstate, ENUM, "old state", .names = &socket_state_names),
	FIELD(S, newstate, ENUM, "new state", .names = &socket_state_names),
	FIELD(S, span_ns, DURATION, "time in the old state; unknown for states that began before the run"),
};
#undef S

static const struct event_role state_roles[] = {
	{
		.name = "state changes",
		.hooks = {{.programs = {"tcp_state_change", "tcp_state_change_twin"}, .twins = true}},
	},
};
EVENT_TYPE(tcp_state, "tcp.state", struct tcp_state, state_fields, state_roles, "TCP state change");

static const struct enum_name role_items[] = {
	{TCP_ROLE_CLIENT, "client", "initiated the connection (active open)"},
	{TCP_ROLE_SERVER, "server", "accepted the connection (passive open)"},
};
struct enum_names tcp_role_names = {.items = role_items, .count = ARRAY_SIZE(role_items)};

#define C struct tcp_close
static const struct field close_fields[] = {
	FIELD(C, tx_bytes, BYTES, "payload sent, without retransmissions"),
	FIELD(C, rx_bytes, BYTES, "payload received in order"),
	FIELD(C, span_ns, DURATION, "duration since the first SYN; unknown for connections established before the run"),
	FIELD(C, role, ENUM, "client or server; unknown for connections established before the run",
	      .names = &tcp_role_names, .zero_is_unknown = true, .hidden = true),
	FIELD(C, state, ENUM, "state before the close; SYN_SENT: never established", .names = &socket_state_names,
	      .hidden = true),
	FIELD(C, error, ENUM, "error that ended the connection, if any", .names = &errno_names, .zero_is_unknown = true,
	      .hidden = true),
	FIELD(C, retransmits, COUNT, "retransmitted segments", .hidden = true),
	FIELD(C, srtt_ns, DURATION, "smoothed RTT at the close", .zero_is_unknown = true, .hidden = true),
	FIELD(C, min_rtt_ns, DURATION, "minimum RTT of the kernel's recent window (tcp_min_rtt_wlen)",
	      .zero_is_unknown = true, .hidden = true),
};
#undef C

static const struct event_role close_roles[] = {
	{
		.name = "state changes",
		.hooks = {{.programs = {"tcp_close_change", "tcp_close_change_twin"}, .twins = true}},
	},
};
EVENT_TYPE(tcp_close, "tcp.close", struct tcp_close, close_fields, close_roles,
	   "closed TCP connection, with bytes, duration and end state");

static const struct enum_name kind_items[] = {
	{TCP_RETRANSMIT_FAST, "fast", "loss detected from ACKs"},
	{TCP_RETRANSMIT_TIMEOUT, "timeout", "retransmission timeout (RTO)"},
	{TCP_RETRANSMIT_PROBE, "probe", "tail loss probe"},
	{TCP_RETRANSMIT_SYN, "syn", "SYN not answered"},
	{TCP_RETRANSMIT_SYNACK, "synack", "SYN-ACK not acknowledged"},
};
static struct enum_names kind_names = {.items = kind_items, .count = ARRAY_SIZE(kind_items)};

#define R struct tcp_retransmit
static const struct field retransmit_fields[] = {
	FIELD(R, kind, ENUM, "cause of the retransmission", .names = &kind_names, .zero_is_unknown = true),
	FIELD(R, state, ENUM, "state of the connection", .names = &socket_state_names),
	FIELD(R, seq, ID, "sequence number of the segment", .zero_is_unknown = true, .hidden = true),
	FIELD(R, bytes, BYTES, "payload of the segment"),
	FIELD(R, segs, COUNT, "number of packets on the wire", .zero_is_unknown = true, .hidden = true),
	FIELD(R, error, ENUM, "error of the transmission on this host", .names = &errno_names, .zero_is_unknown = true,
	      .hidden = true),
	FIELD(R, cwnd, COUNT, "congestion window, segments", .zero_is_unknown = true, .hidden = true),
	FIELD(R, srtt_ns, DURATION, "smoothed RTT", .zero_is_unknown = true, .hidden = true),
};
#undef R

static const struct event_role retransmit_roles[] = {
	{.name = "segments", .hooks = {{.programs = {"tcp_retransmit_skb"}}}},
	{
		.name = "SYN-ACK retransmissions",
		.without = "SYN-ACK retransmissions are not reported",
		.hooks = {{.programs = {"tcp_retransmit_synack"}}},
	},
};
EVENT_TYPE(tcp_retransmit, "tcp.retransmit", struct tcp_retransmit, retransmit_fields, retransmit_roles,
	   "TCP retransmission");
