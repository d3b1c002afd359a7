/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Outgoing connections: fields and hooks. */
#include "event/sock/sock_connect.h"
#include "event/core/event.h"

#define C struct sock_connect
static const struct field connect_fields[] = {
	FIELD(C, lat_ns, DURATION, "connect latency; TCP: from SYN to answer, others: of the system call"),
	FIELD(C, error, ENUM, "error of a failed connect; ECANCELED: closed by the application before an answer",
	      .names = &errno_names, .zero_is_unknown = true),
	FIELD(C, path, TEXT, "path of a UNIX socket, first 63 bytes; @: abstract", .hidden = true),
};
#undef C

static const struct event_role connect_roles[] = {
	{
		.name = "state changes",
		.hooks = {{.programs = {"sock_connect_state", "sock_connect_state_twin"}, .twins = true}},
	},
	{
		.name = "connect() calls",
		.without = "UDP and UNIX sockets, and connects that fail before a packet is sent, are not reported",
		.hooks = {{.programs = {"sock_connect_enter", "sock_connect_exit"}},
			  {.programs = {"sock_connect_any_enter", "sock_connect_any_exit"}}},
	},
};
EVENT_TYPE(sock_connect, "sock.connect", struct sock_connect, connect_fields, connect_roles,
	   "outgoing connection, established or failed");

static const struct field firstbyte_fields[] = {
	FIELD(struct sock_firstbyte, lat_ns, DURATION, "time from the SYN to the first read"),
	FIELD(struct sock_firstbyte, bytes, BYTES, "bytes of the first read", .hidden = true),
};

static const struct event_role firstbyte_roles[] = {
	{.name = "connection setup", .hooks = {{.programs = {"sock_firstbyte_state"}}}},
	{
		.name = "receive calls",
		.hooks = {{.programs = {"sock_firstbyte_recv"}},
			  {.programs = {"sock_firstbyte_inet", "sock_firstbyte_inet6"}},
			  {.programs = {"sock_firstbyte_adjust"}}},
	},
};
EVENT_TYPE(sock_firstbyte, "sock.firstbyte", struct sock_firstbyte, firstbyte_fields, firstbyte_roles,
	   "first read on an outgoing TCP connection", .current = true);
