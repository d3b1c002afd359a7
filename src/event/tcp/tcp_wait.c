/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/tcp/tcp_wait.h"
#include "event/core/event.h"

static const struct field wait_fields[] = {
	FIELD(struct tcp_wait, lat_ns, DURATION, "time from arrival to the read"),
	FIELD(struct tcp_wait, bytes, BYTES, "bytes of the read"),
};

static const struct event_role wait_roles[] = {
	{.name = "arrival and read of data", .hooks = {{.programs = {"tcp_wait_arrival", "tcp_wait_read"}}}},
};
EVENT_TYPE(tcp_wait, "tcp.wait", struct tcp_wait, wait_fields, wait_roles,
	   "read of TCP data that arrived in an empty receive queue", .current = true);
