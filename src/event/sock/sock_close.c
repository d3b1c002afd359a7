/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lives of sockets: fields and hooks. */
#include "event/sock/sock_close.h"
#include "event/core/attach.h"
#include "event/core/event.h"

#define C struct sock_close
static const struct field close_fields[] = {
	FIELD(C, tx_bytes, BYTES, "what the application sent; unknown of sockets that were there before"),
	FIELD(C, rx_bytes, BYTES, "what the application received; unknown of sockets that were there before"),
	FIELD(C, span_ns, DURATION,
	      "how long it lived: since it was asked to connect, was there to be accepted, or else was made"),
	FIELD(C, sends, COUNT, "calls that sent; of UDP: datagrams", .hidden = true),
	FIELD(C, receives, COUNT, "calls that received; of UDP: datagrams", .hidden = true),
};
#undef C

static const struct event_role close_roles[] = {
	{.name = "sockets released",
	 .hooks = {{.programs = {"sock_close_release"}, .attach = event_attach_cgroups, .check = event_check_cgroups}}},
	{.name = "sockets made",
	 .hooks = {{.programs = {"sock_close_create"}, .attach = event_attach_cgroups, .check = event_check_cgroups}}},
	{
		.name = "connections that begin",
		.hooks = {{.programs = {"sock_close_state", "sock_close_state_twin"}, .twins = true}},
	},
	{
		.name = "sends",
		.hooks = {{.programs = {"sock_close_send"}},
			  {.programs = {"sock_close_send_inet", "sock_close_send_inet6"}}},
	},
	{
		.name = "receives",
		.hooks = {{.programs = {"sock_close_recv"}},
			  {.programs = {"sock_close_recv_inet", "sock_close_recv_inet6"}}},
	},
};
EVENT_TYPE(sock_close, "sock.close", struct sock_close, close_fields, close_roles,
	   "an application is done with a socket of IPv4 or IPv6", .current = true);

static const struct event_role udp_roles[] = {
	{.name = "sockets released",
	 .hooks = {{.programs = {"udp_close_release"}, .attach = event_attach_cgroups, .check = event_check_cgroups}}},
	{.name = "sockets made",
	 .hooks = {{.programs = {"udp_close_create"}, .attach = event_attach_cgroups, .check = event_check_cgroups}}},
	{
		.name = "sends",
		.hooks = {{.programs = {"udp_close_send"}},
			  {.programs = {"udp_close_send_udp", "udp_close_send_udp6"}}},
	},
	{
		.name = "receives",
		.hooks = {{.programs = {"udp_close_recv"}},
			  {.programs = {"udp_close_recv_udp", "udp_close_recv_udp6"}}},
	},
};
EVENT_TYPE(udp_close, "udp.close", struct sock_close, close_fields, udp_roles,
	   "an application is done with a UDP socket: what went through it", .current = true);
