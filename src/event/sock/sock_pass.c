/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/sock/sock_pass.h"
#include "event/core/event.h"

static const struct enum_name action_items[] = {
	{SOCK_PASS_SEND, "send", "passed to the peer"},
	{SOCK_PASS_RECV, "recv", "received from the peer"},
};
static struct enum_names action_names = {.items = action_items, .count = ARRAY_SIZE(action_items)};

#define P struct sock_pass
static const struct field pass_fields[] = {
	FIELD(P, action, ENUM, "direction", .names = &action_names, .zero_is_unknown = true),
	FIELD(P, socket_fd, ID, "file descriptor of the UNIX socket"),
	FIELD(P, fd, ID, "passed file descriptor, as numbered in this process"),
	FIELD(P, file, TEXT, "name of the file, first 47 bytes"),
};
#undef P

static const struct event_role pass_roles[] = {
	{
		.name = "sendmsg() calls",
		.hooks = {{.programs = {"sock_pass_send_exit"}}, {.programs = {"sock_pass_send_any_exit"}}},
	},
	{
		.name = "recvmsg() calls",
		.hooks = {{.programs = {"sock_pass_recv_exit"}}, {.programs = {"sock_pass_recv_any_exit"}}},
	},
};
EVENT_TYPE(sock_pass, "sock.pass", struct sock_pass, pass_fields, pass_roles,
	   "file descriptor passed over a UNIX socket", .current = true);
