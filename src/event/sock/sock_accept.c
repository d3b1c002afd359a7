/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/sock/sock_accept.h"
#include "event/core/event.h"

static const struct field accept_fields[] = {
	FIELD(struct sock_accept, error, ENUM, "error, if the call failed", .names = &errno_names,
	      .zero_is_unknown = true),
	FIELD(struct sock_accept, fd, ID, "file descriptor of the new socket", .hidden = true),
};

static const struct event_role accept_roles[] = {
	{
		.name = "accept() calls",
		.hooks = {{.programs = {"sock_accept_exit", "sock_accept4_exit"}},
			  {.programs = {"sock_accept_any_exit", "sock_accept4_any_exit"}}},
	},
	{
		.name = "io_uring accepts",
		.without = "accepts through io_uring are not reported",
		.hooks = {{.programs = {"sock_accept_ring"}}},
	},
};
EVENT_TYPE(sock_accept, "sock.accept", struct sock_accept, accept_fields, accept_roles,
	   "connection accepted by an application", .current = true);
