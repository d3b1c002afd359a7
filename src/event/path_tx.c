/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/event.h"
#include "event/path.h"
#include "event/path_names.h"

/* tag: stages that are not seen without it. */
static const struct event_role tx_roles[] = {
	{.name = "packets that leave the stack", .hooks = {{.programs = {"path_queue"}}}},
	{.name = "packets that drivers take", .hooks = {{.programs = {"path_xmit", "path_xmitted"}}}},
	{.name = "packets that are let go",
	 .without = "drops and what devices have sent are not told",
	 .tag = 1u << PATH_COMPLETION,
	 .hooks = {{.programs = {"path_drop", "path_consume"}}}},
	{.name = "packets for this host",
	 .without = "what stays on the host looks as if a device had to send it",
	 .hooks = {{.programs = {"path_netif_rx", "path_gro"}}, {.programs = {"path_netif_rx"}}}},
	{.name = "writes",
	 .without = "waiting for room in the send buffer and in TCP is not seen (Linux 6.16 and later)",
	 .tag = 1u << PATH_SNDBUF | 1u << PATH_TCP,
	 .hooks = {{.programs = {"path_tx_write"}}}},
	{.name = "ends of writes, and owners who send",
	 .without = "a socket that was handed over keeps its first owner until the new one receives",
	 .hooks = {{.programs = {"path_tx_written"}}, {.programs = {"sock_owner_send_inet", "sock_owner_send_inet6"}}}},
	{.name = "queues of interfaces",
	 .without = "how many packets were in the queue is not known (Linux 5.15 and later)",
	 .hooks = {{.programs = {"path_tx_enqueue"}}}},
	{.name = "acknowledgements",
	 .without = "acknowledgements are not seen",
	 .tag = 1u << PATH_ACK,
	 .hooks = {{.programs = {"path_tcp"}}}},
	{.name = "packets that drivers take, with few hooks",
	 .set = EVENT_SET_FEWEST,
	 .hooks = {{.programs = {"path_few_xmit"}}}},
	{.name = "writes, with few hooks",
	 .without = "waiting for room in the send buffer and in TCP is not seen (Linux 6.16 and later)",
	 .set = EVENT_SET_SOME,
	 .tag = 1u << PATH_SNDBUF | 1u << PATH_TCP,
	 .hooks = {{.programs = {"path_few_write"}}}},
	{.name = "acknowledgements, with few hooks",
	 .without = "acknowledgements are not seen",
	 .set = EVENT_SET_FEWEST,
	 .tag = 1u << PATH_ACK,
	 .hooks = {{.programs = {"path_few_tcp"}}}},
};
EVENT_TYPE(path_tx, "path.tx", struct path_journey, path_fields, tx_roles,
	   "a packet of this host has come to the end of its way out of it", .early = path_early,
	   .shortest = offsetof(struct path_journey, steps), .learns_at_send = true);
