/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Connections that are asked for here: fields and hooks. */
#include "event/sock/sock_connect.h"
#include "event/core/event.h"

#define C struct sock_connect
static const struct field connect_fields[] = {
	FIELD(C, lat_ns, DURATION, "TCP: from the first packet to the answer; others: the system call"),
	FIELD(C, error, ENUM,
	      "why there is no connection; ECANCELED: the application closed the socket before an answer came",
	      .names = &errno_names, .zero_is_unknown = true),
	FIELD(C, path, TEXT, "address of a UNIX socket, the first 63 bytes; @: abstract", .hidden = true),
};
#undef C

static const struct event_role connect_roles[] = {
	{
		.name = "changes of state",
		.hooks = {{.programs = {"sock_connect_state", "sock_connect_state_twin"}, .twins = true}},
	},
	{
		.name = "calls of connect",
		.without = "UDP and UNIX sockets, and connections that fail before a packet is sent, are not told",
		.hooks = {{.programs = {"sock_connect_enter", "sock_connect_exit"}},
			  {.programs = {"sock_connect_any_enter", "sock_connect_any_exit"}}},
	},
};
EVENT_TYPE(sock_connect, "sock.connect", struct sock_connect, connect_fields, connect_roles,
	   "a connection that was asked for here is there, or is not");

static const struct field firstbyte_fields[] = {
	FIELD(struct sock_firstbyte, lat_ns, DURATION, "from the first packet to the first bytes that were read"),
	FIELD(struct sock_firstbyte, bytes, BYTES, "how many were read then", .hidden = true),
};

static const struct event_role firstbyte_roles[] = {
	{.name = "connections that begin", .hooks = {{.programs = {"sock_firstbyte_state"}}}},
	{
		.name = "receives",
		.hooks = {{.programs = {"sock_firstbyte_recv"}},
			  {.programs = {"sock_firstbyte_inet", "sock_firstbyte_inet6"}}},
	},
};
EVENT_TYPE(sock_firstbyte, "sock.firstbyte", struct sock_firstbyte, firstbyte_fields, firstbyte_roles,
	   "the first bytes of a TCP connection that was asked for here were read", .current = true);
