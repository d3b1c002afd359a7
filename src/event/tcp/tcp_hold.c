/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/tcp/tcp_hold.h"
#include "event/core/event.h"

static const struct enum_name reason_items[] = {
	{TCP_HOLD_PACING, "pacing", "TCP pacing"},
	{TCP_HOLD_CWND, "cwnd", "the congestion window is full"},
	{TCP_HOLD_WINDOW, "window", "the receive window of the peer is full"},
	{TCP_HOLD_CORK, "cork", "TCP_CORK or MSG_MORE"},
	{TCP_HOLD_NAGLE, "nagle", "Nagle: a small segment waits for an ACK"},
	{TCP_HOLD_QUEUE, "queue", "earlier packets of the socket are in the qdisc or driver (TSQ)"},
};
static struct enum_names reason_names = {.items = reason_items, .count = ARRAY_SIZE(reason_items)};

#define H struct tcp_hold
static const struct field hold_fields[] = {
	FIELD(H, reason, ENUM, "reason at the start of the wait", .names = &reason_names, .zero_is_unknown = true),
	FIELD(H, lat_ns, DURATION, "wait of the first byte"),
	FIELD(H, bytes, BYTES, "bytes held at the start of the wait"),
	FIELD(H, seq, ID, "sequence number of the first byte", .hidden = true),
};
#undef H

static const struct event_role hold_roles[] = {
	{
		.name = "writes",
		.hooks = {{.programs = {"tcp_hold_write"}},
			  {.programs = {"tcp_hold_write_inet", "tcp_hold_write_inet6"}},
			  {.programs = {"tcp_hold_call", "tcp_hold_call_done", "tcp_hold_call6", "tcp_hold_call6_done",
					"tcp_hold_call_left", "tcp_hold_ended"}}},
	},
	{.name = "transmitted segments", .hooks = {{.programs = {"tcp_hold_segment"}}}},
};
EVENT_TYPE(tcp_hold, "tcp.hold", struct tcp_hold, hold_fields, hold_roles, "written data held back by TCP");
