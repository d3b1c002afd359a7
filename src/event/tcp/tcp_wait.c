/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/tcp/tcp_wait.h"
#include "event/core/event.h"

static const struct field wait_fields[] = {
	FIELD(struct tcp_wait, lat_ns, DURATION, "from the arrival of the data to its being read"),
	FIELD(struct tcp_wait, bytes, BYTES, "read at once"),
};

static const struct event_role wait_roles[] = {
	{.name = "data that arrives and is read", .hooks = {{.programs = {"tcp_wait_arrival", "tcp_wait_read"}}}},
};
EVENT_TYPE(tcp_wait, "tcp.wait", struct tcp_wait, wait_fields, wait_roles,
	   "an application read data that had come to an empty receive queue", .current = true);
