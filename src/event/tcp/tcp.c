/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events of TCP connections: fields and hooks. */
#include "event/tcp/tcp.h"
#include "event/core/event.h"
#include "record/net_names.h"

#define S struct tcp_state
static const struct field state_fields[] = {
	FIELD(S, oldstate, ENUM, "state that it leaves", .names = &socket_state_names),
	FIELD(S, newstate, ENUM, "state that it enters", .names = &socket_state_names),
	FIELD(S, span_ns, DURATION, "how long it was in the old state; unknown of states that began before the run"),
};
#undef S

static const struct event_role state_roles[] = {
	{
		.name = "changes of state",
		.hooks = {{.programs = {"tcp_state_change", "tcp_state_change_twin"}, .twins = true}},
	},
};
EVENT_TYPE(tcp_state, "tcp.state", struct tcp_state, state_fields, state_roles, "a TCP socket changed its state");

static const struct enum_name role_items[] = {
	{TCP_ROLE_CLIENT, "client", "asked for the connection"},
	{TCP_ROLE_SERVER, "server", "was asked for it"},
};
static struct enum_names role_names = {.items = role_items, .count = ARRAY_SIZE(role_items)};

#define C struct tcp_close
static const struct field close_fields[] = {
	FIELD(C, tx_bytes, BYTES, "payload sent; what was sent again counts once"),
	FIELD(C, rx_bytes, BYTES, "payload received in order"),
	FIELD(C, span_ns, DURATION,
	      "how long it lived, from its first SYN; unknown of connections that were there before"),
	FIELD(C, role, ENUM, "which end this is; unknown of connections that were there before", .names = &role_names,
	      .zero_is_unknown = true, .hidden = true),
	FIELD(C, state, ENUM, "state before it closed: SYN_SENT means that it was never there",
	      .names = &socket_state_names, .hidden = true),
	FIELD(C, error, ENUM, "what ended it, where it did not end in order", .names = &errno_names,
	      .zero_is_unknown = true, .hidden = true),
	FIELD(C, retransmits, COUNT, "segments sent again", .hidden = true),
	FIELD(C, srtt_ns, DURATION, "smoothed round-trip time at the end", .zero_is_unknown = true, .hidden = true),
	FIELD(C, min_rtt_ns, DURATION, "smallest round-trip time of late", .zero_is_unknown = true, .hidden = true),
};
#undef C

static const struct event_role close_roles[] = {
	{
		.name = "changes of state",
		.hooks = {{.programs = {"tcp_close_change", "tcp_close_change_twin"}, .twins = true}},
	},
};
EVENT_TYPE(tcp_close, "tcp.close", struct tcp_close, close_fields, close_roles,
	   "a TCP connection is over: its whole life in one record");

static const struct enum_name kind_items[] = {
	{TCP_RETRANSMIT_FAST, "fast", "acknowledgements showed the loss"},
	{TCP_RETRANSMIT_TIMEOUT, "timeout", "no acknowledgement came in time (RTO)"},
	{TCP_RETRANSMIT_PROBE, "probe", "tail loss probe"},
	{TCP_RETRANSMIT_SYN, "syn", "the request for a connection was not answered"},
	{TCP_RETRANSMIT_SYNACK, "synack", "the answer to a request was not acknowledged"},
};
static struct enum_names kind_names = {.items = kind_items, .count = ARRAY_SIZE(kind_items)};

#define R struct tcp_retransmit
static const struct field retransmit_fields[] = {
	FIELD(R, kind, ENUM, "why it was sent again", .names = &kind_names, .zero_is_unknown = true),
	FIELD(R, state, ENUM, "state of the connection", .names = &socket_state_names),
	FIELD(R, seq, ID, "sequence number of the segment", .zero_is_unknown = true, .hidden = true),
	FIELD(R, bytes, BYTES, "payload of the segment"),
	FIELD(R, segs, COUNT, "packets that it makes on the wire", .zero_is_unknown = true, .hidden = true),
	FIELD(R, error, ENUM, "why the segment did not leave the host", .names = &errno_names, .zero_is_unknown = true,
	      .hidden = true),
	FIELD(R, cwnd, COUNT, "congestion window, segments", .zero_is_unknown = true, .hidden = true),
	FIELD(R, srtt_ns, DURATION, "smoothed round-trip time", .zero_is_unknown = true, .hidden = true),
};
#undef R

static const struct event_role retransmit_roles[] = {
	{.name = "segments", .hooks = {{.programs = {"tcp_retransmit_skb"}}}},
	{
		.name = "answers to requests",
		.without = "SYN/ACKs that are sent again are not told",
		.hooks = {{.programs = {"tcp_retransmit_synack"}}},
	},
};
EVENT_TYPE(tcp_retransmit, "tcp.retransmit", struct tcp_retransmit, retransmit_fields, retransmit_roles,
	   "TCP sent a segment again");
