/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/tcp/tcp_hold.h"
#include "event/core/event.h"

static const struct enum_name reason_items[] = {
	{TCP_HOLD_PACING, "pacing", "TCP spreads its segments over time"},
	{TCP_HOLD_CWND, "cwnd", "the congestion window is full"},
	{TCP_HOLD_WINDOW, "window", "the receiver's window is full"},
	{TCP_HOLD_CORK, "cork", "the application asked to wait for more (TCP_CORK, MSG_MORE)"},
	{TCP_HOLD_NAGLE, "nagle", "a small segment waits for the acknowledgement of another"},
	{TCP_HOLD_QUEUE, "queue", "earlier packets of the socket are still in a queue of this host"},
};
static struct enum_names reason_names = {.items = reason_items, .count = ARRAY_SIZE(reason_items)};

#define H struct tcp_hold
static const struct field hold_fields[] = {
	FIELD(H, reason, ENUM, "what held it when it began to wait", .names = &reason_names, .zero_is_unknown = true),
	FIELD(H, lat_ns, DURATION, "how long its first byte waited"),
	FIELD(H, bytes, BYTES, "how much waited when it began"),
	FIELD(H, seq, ID, "sequence number of the first byte", .hidden = true),
};
#undef H

static const struct event_role hold_roles[] = {
	{
		.name = "writes",
		.hooks = {{.programs = {"tcp_hold_write"}},
			  {.programs = {"tcp_hold_write_inet", "tcp_hold_write_inet6"}}},
	},
	{.name = "segments that leave", .hooks = {{.programs = {"tcp_hold_segment"}}}},
};
EVENT_TYPE(tcp_hold, "tcp.hold", struct tcp_hold, hold_fields, hold_roles,
	   "data that was written had to wait before TCP sent it");
