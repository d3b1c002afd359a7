/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How owners of sockets are learnt: no event of its own, but a part of most. */
#include "event/core/sock_owner.h"
#include "event/core/attach.h"

const struct event_role sock_owner_roles[SOCK_OWNER_ROLES] = {
	{
		.name = "connect, listen, close",
		.without = "owners of sockets are learnt when they are used only",
		.hooks = {{.programs = {"sock_owner_state"}}},
	},
	{
		.name = "sockets made",
		.without = "sockets that wait for their first datagram have no owner yet",
		.hooks = {{.programs = {"sock_owner_create"},
			   .attach = event_attach_cgroups,
			   .check = event_check_cgroups}},
	},
	{
		.name = "owners who send",
		.without = "a socket that was handed over keeps its first owner until the new one receives",
		.hooks = {{.programs = {"sock_owner_send"}},
			  {.programs = {"sock_owner_send_inet", "sock_owner_send_inet6"}}},
	},
	{
		.name = "owners who receive",
		.without = "a socket that was handed over keeps its first owner until the new one sends",
		.hooks = {{.programs = {"sock_owner_recv"}},
			  {.programs = {"sock_owner_recv_inet", "sock_owner_recv_inet6"}}},
	},
};

const struct event_role event_tree_role = {
	.name = "new processes",
	.without = "processes that a followed one starts are not followed",
	.hooks = {{.programs = {"event_tree_fork"}}},
};

const struct event_role event_cgroup_role = {
	.name = "new control groups",
	.without = "control groups that are made later are not followed",
	.hooks = {{.programs = {"event_cgroup_made"}}},
};
