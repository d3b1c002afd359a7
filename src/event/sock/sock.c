/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events of the socket layer: fields and hooks. */
#include "event/sock/sock.h"
#include "event/core/event.h"

#define IO struct sock_io
static const struct field io_fields[] = {
	FIELD(IO, bytes, BYTES, "length; unknown if the call failed"),
	FIELD(IO, error, ENUM, "error, if the call failed", .names = &errno_names, .zero_is_unknown = true),
};
#undef IO

static const char *const io_early[] = {"bytes", "error", "pid", "tid", "uid", "comm", NULL};

static const struct event_role send_roles[] = {
	{
		.name = "send calls",
		.hooks = {{.programs = {"sock_send_length"}},
			  {.programs = {"sock_send_inet", "sock_send_inet6", "sock_send_page"}},
			  {.programs = {"sock_send_inet", "sock_send_inet6"}},
			  {.programs = {"sock_send_call", "sock_send_call_done", "sock_send_call6",
					"sock_send_call6_done", "sock_send_call_left"}}},
	},
};
EVENT_TYPE(sock_send, "sock.send", struct sock_io, io_fields, send_roles, "socket write by an application",
	   .current = true, .adds_briefly = true, .early = io_early);

static const struct event_role recv_roles[] = {
	{
		.name = "receive calls",
		.hooks = {{.programs = {"sock_recv_length"}},
			  {.programs = {"sock_recv_inet", "sock_recv_inet6"}},
			  {.programs = {"sock_recv_call", "sock_recv_call_done", "sock_recv_call6",
					"sock_recv_call6_done", "sock_recv_call_left"}}},
	},
};
EVENT_TYPE(sock_recv, "sock.recv", struct sock_io, io_fields, recv_roles,
	   "socket read by an application; MSG_PEEK does not count", .current = true, .adds_briefly = true,
	   .early = io_early);

/* A separate event: tracing system call exits slows every system call, and few programs splice. */
static const struct event_role splice_roles[] = {
	{
		.name = "splice() calls",
		.hooks = {{.programs = {"sock_splice_exit"}}, {.programs = {"sock_splice_any_exit"}}},
	},
};
EVENT_TYPE(sock_splice, "sock.splice", struct sock_io, io_fields, splice_roles, "splice() from a socket",
	   .current = true);
