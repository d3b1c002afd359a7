/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/tcp/tcp_backlog.h"
#include "event/core/event.h"

#define B struct tcp_backlog
static const struct field backlog_fields[] = {
	FIELD(B, backlog, COUNT, "connections that wait to be accepted, with the one that has come"),
	FIELD(B, backlog_max, COUNT, "how many may wait"),
	FIELD(B, syn_backlog, COUNT, "requests whose handshake is under way", .hidden = true),
	FIELD(B, drops, COUNT,
	      "packets that the listener has dropped since it is there, most of them for lack of room"),
};
#undef B

static const struct event_role backlog_roles[] = {
	{
		.name = "connections that wait",
		.hooks = {{.programs = {"tcp_backlog_ready"}}, {.programs = {"tcp_backlog_done"}}},
	},
};
EVENT_TYPE(tcp_backlog, "tcp.backlog", struct tcp_backlog, backlog_fields, backlog_roles,
	   "a connection is there and waits to be accepted");
