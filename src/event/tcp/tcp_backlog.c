/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/tcp/tcp_backlog.h"
#include "event/core/event.h"

#define B struct tcp_backlog
static const struct field backlog_fields[] = {
	FIELD(B, backlog, COUNT, "connections in the accept queue, including the new one"),
	FIELD(B, backlog_max, COUNT, "limit of the accept queue"),
	FIELD(B, syn_backlog, COUNT, "SYN queue length", .hidden = true),
	FIELD(B, drops, COUNT, "packets dropped by the listener since it exists, mostly at a full queue"),
};
#undef B

static const struct event_role backlog_roles[] = {
	{
		.name = "connections entering the accept queue",
		.hooks = {{.programs = {"tcp_backlog_ready"}},
			  {.programs = {"tcp_backlog_done"}},
			  {.programs = {"tcp_backlog_call"}}},
	},
};
EVENT_TYPE(tcp_backlog, "tcp.backlog", struct tcp_backlog, backlog_fields, backlog_roles,
	   "TCP connection enters an accept queue");
