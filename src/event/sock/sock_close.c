/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Socket close events: fields and hooks. */
#include "event/sock/sock_close.h"
#include "event/core/attach.h"
#include "event/core/event.h"

#define C struct sock_close
static const struct field close_fields[] = {
	FIELD(C, tx_bytes, BYTES, "bytes sent by the application; unknown for sockets opened before the run"),
	FIELD(C, rx_bytes, BYTES, "bytes received by the application; unknown for sockets opened before the run"),
	FIELD(C, span_ns, DURATION,
	      "duration since connect(), since the connection entered the accept queue, or since socket()"),
	FIELD(C, sends, COUNT, "send calls; for UDP datagrams", .hidden = true),
	FIELD(C, receives, COUNT, "receive calls; for UDP datagrams", .hidden = true),
};
#undef C

static const struct event_role close_roles[] = {
	{.name = "socket release",
	 .hooks = {{.programs = {"sock_close_release"}, .attach = event_attach_cgroups, .check = event_check_cgroups}}},
	{.name = "socket creation",
	 .hooks = {{.programs = {"sock_close_create"}, .attach = event_attach_cgroups, .check = event_check_cgroups}}},
	{
		.name = "connection setup",
		.hooks = {{.programs = {"sock_close_state", "sock_close_state_twin"}, .twins = true}},
	},
	{
		.name = "send calls",
		.hooks = {{.programs = {"sock_close_send"}},
			  {.programs = {"sock_close_send_inet", "sock_close_send_inet6"}},
			  {.programs = {"sock_close_send_call", "sock_close_send_call_done", "sock_close_send_call6",
					"sock_close_send_call6_done", "sock_close_call_left"}}},
	},
	{
		.name = "receive calls",
		.hooks = {{.programs = {"sock_close_recv"}},
			  {.programs = {"sock_close_recv_inet", "sock_close_recv_inet6"}},
			  {.programs = {"sock_close_recv_call", "sock_close_recv_call_done", "sock_close_recv_call6",
					"sock_close_recv_call6_done", "sock_close_call_left"}}},
	},
};
EVENT_TYPE(sock_close, "sock.close", struct sock_close, close_fields, close_roles,
	   "IPv4 or IPv6 socket closed by the application, with bytes and duration", .current = true);

static const struct event_role udp_roles[] = {
	{.name = "socket release",
	 .hooks = {{.programs = {"udp_close_release"}, .attach = event_attach_cgroups, .check = event_check_cgroups}}},
	{.name = "socket creation",
	 .hooks = {{.programs = {"udp_close_create"}, .attach = event_attach_cgroups, .check = event_check_cgroups}}},
	{
		.name = "send calls",
		.hooks = {{.programs = {"udp_close_send"}},
			  {.programs = {"udp_close_send_udp", "udp_close_send_udp6"}},
			  {.programs = {"udp_close_send_call", "udp_close_send_call_done", "udp_close_send_call6",
					"udp_close_send_call6_done", "udp_close_call_left"}}},
	},
	{
		.name = "receive calls",
		.hooks = {{.programs = {"udp_close_recv"}},
			  {.programs = {"udp_close_recv_udp", "udp_close_recv_udp6"}},
			  {.programs = {"udp_close_recv_inet", "udp_close_recv_inet6"}},
			  {.programs = {"udp_close_recv_call", "udp_close_recv_call_done", "udp_close_recv_call6",
					"udp_close_recv_call6_done", "udp_close_call_left"}}},
	},
};
EVENT_TYPE(udp_close, "udp.close", struct sock_close, close_fields, udp_roles,
	   "UDP socket closed by the application, with datagrams, bytes and duration", .current = true);
