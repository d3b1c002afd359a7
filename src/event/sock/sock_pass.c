/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/sock/sock_pass.h"
#include "event/core/event.h"

static const struct enum_name action_items[] = {
	{SOCK_PASS_SEND, "send", "handed over"},
	{SOCK_PASS_RECV, "recv", "received"},
};
static struct enum_names action_names = {.items = action_items, .count = ARRAY_SIZE(action_items)};

#define P struct sock_pass
static const struct field pass_fields[] = {
	FIELD(P, action, ENUM, "which way", .names = &action_names, .zero_is_unknown = true),
	FIELD(P, socket_fd, ID, "descriptor of the UNIX socket"),
	FIELD(P, fd, ID, "the descriptor, as this process has it"),
	FIELD(P, file, TEXT, "name of what it stands for, the first 47 bytes"),
};
#undef P

static const struct event_role pass_roles[] = {
	{
		.name = "calls of sendmsg",
		.hooks = {{.programs = {"sock_pass_send_exit"}}, {.programs = {"sock_pass_send_any_exit"}}},
	},
	{
		.name = "calls of recvmsg",
		.hooks = {{.programs = {"sock_pass_recv_exit"}}, {.programs = {"sock_pass_recv_any_exit"}}},
	},
};
EVENT_TYPE(sock_pass, "sock.pass", struct sock_pass, pass_fields, pass_roles,
	   "a descriptor was handed over through a UNIX socket", .current = true);
