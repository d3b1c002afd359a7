/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/dev/dev_complete.h"
#include "event/core/event.h"

static const struct enum_name ends[] = {
	{DEV_CONSUMED, "sent", "completed by the driver"},
	{DEV_FREED, "freed", "freed by the driver: dropped, or completed by a driver that does not distinguish"},
	{DEV_HANDED_ON, "handed-on", "virtual interface: passed to the receiving side or a lower interface"},
};
static struct enum_names end_names = {ends, ARRAY_SIZE(ends), NULL};

#define D struct dev_complete
static const struct field complete_fields[] = {
	FIELD(D, dev, TEXT, "interface"),
	FIELD(D, queue, ID, "queue number"),
	FIELD(D, bytes, BYTES, "packet length, link header included"),
	FIELD(D, end, ENUM, "how the driver released the packet", .names = &end_names, .zero_is_unknown = true),
	FIELD(D, lat_ns, DURATION, "time from the driver getting the packet to its completion or hand-over"),
};
#undef D

static const struct event_role complete_roles[] = {
	{.name = "packets in the driver",
	 .hooks = {{.programs = {"dev_complete_start", "dev_complete_return", "dev_complete_consumed",
				 "dev_complete_freed", "dev_complete_below", "dev_complete_backlog",
				 "dev_complete_gro"}}}},
};
EVENT_TYPE(dev_complete, "dev.complete", struct dev_complete, complete_fields, complete_roles,
	   "packet completed by the driver");
