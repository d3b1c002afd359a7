/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Socket owner tracking: not an event, but part of most. */
#include "event/core/sock_owner.h"
#include "event/core/attach.h"

const struct event_role sock_owner_roles[SOCK_OWNER_ROLES] = {
	{
		.name = "connect, listen, close",
		.without = "socket owners are known only after first use",
		.hooks = {{.programs = {"sock_owner_state"}}},
	},
	{
		.name = "socket creation",
		.without = "sockets that wait for their first datagram have no owner",
		.hooks = {{.programs = {"sock_owner_create"},
			   .attach = event_attach_cgroups,
			   .check = event_check_cgroups}},
	},
	{
		.name = "senders",
		.without = "a passed socket keeps its first owner until the new one receives",
		.hooks = {{.programs = {"sock_owner_send"}},
			  {.programs = {"sock_owner_send_inet", "sock_owner_send_inet6"}}},
	},
	{
		.name = "receivers",
		.without = "a passed socket keeps its first owner until the new one sends",
		.hooks = {{.programs = {"sock_owner_recv"}},
			  {.programs = {"sock_owner_recv_inet", "sock_owner_recv_inet6"}}},
	},
};

const struct event_role sock_number_role = {
	.name = "new sockets",
	.without = "a new socket may be mistaken for an earlier one at its address",
	.hooks = {{.programs = {"sock_number_made", "sock_number_cloned"}}, {.programs = {"sock_number_ended"}}},
};

const struct event_role event_tree_role = {
	.name = "new processes",
	.without = "child processes are not followed",
	.hooks = {{.programs = {"event_tree_fork"}}},
};

const struct event_role event_cgroup_role = {
	.name = "new cgroups",
	.without = "cgroups created later are not followed",
	.hooks = {{.programs = {"event_cgroup_made"}}},
};
