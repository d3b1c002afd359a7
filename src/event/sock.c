/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events of the socket layer: fields and hooks. */
#include "event/sock.h"
#include "event/event.h"

#define IO struct sock_io
static const struct field io_fields[] = {
	FIELD(IO, bytes, BYTES, "how much; unknown when the call failed"),
	FIELD(IO, error, ENUM, "why it failed", .names = &errno_names, .zero_is_unknown = true),
};
#undef IO

static const struct event_role send_roles[] = {
	{
		.name = "sends",
		.hooks = {{.programs = {"sock_send_length"}}, {.programs = {"sock_send_inet", "sock_send_inet6"}}},
	},
};
EVENT_TYPE(sock_send, "sock.send", struct sock_io, io_fields, send_roles, "an application wrote to a socket",
	   .current = true);

static const struct event_role recv_roles[] = {
	{
		.name = "receives",
		.hooks = {{.programs = {"sock_recv_length"}}, {.programs = {"sock_recv_inet", "sock_recv_inet6"}}},
	},
};
EVENT_TYPE(sock_recv, "sock.recv", struct sock_io, io_fields, recv_roles,
	   "an application read from a socket; looking without taking (MSG_PEEK) is not told", .current = true);

#define C struct sock_connect
static const struct field connect_fields[] = {
	FIELD(C, lat_ns, DURATION, "from the first packet to the answer"),
	FIELD(C, error, ENUM,
	      "why there is no connection; ECANCELED: the application closed the socket before an answer came",
	      .names = &errno_names, .zero_is_unknown = true),
};
#undef C

static const struct event_role connect_roles[] = {
	{
		.name = "changes of state",
		.hooks = {{.programs = {"sock_connect_state", "sock_connect_state_twin"}, .twins = true}},
	},
};
EVENT_TYPE(sock_connect, "sock.connect", struct sock_connect, connect_fields, connect_roles,
	   "a TCP connection that was asked for here is there, or is not");
