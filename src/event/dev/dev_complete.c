/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/dev/dev_complete.h"
#include "event/core/event.h"

static const struct enum_name ends[] = {
	{DEV_CONSUMED, "sent", "the driver gave it back as sent"},
	{DEV_FREED, "freed", "the driver dropped it, or does not tell the difference"},
	{DEV_HANDED_ON, "handed-on", "to the receiving side or to another interface: the interface is virtual"},
};
static struct enum_names end_names = {ends, ARRAY_SIZE(ends), NULL};

#define D struct dev_complete
static const struct field complete_fields[] = {
	FIELD(D, dev, TEXT, "interface"),
	FIELD(D, queue, ID, "of the interface"),
	FIELD(D, bytes, BYTES, "of the packet, with the header of the link"),
	FIELD(D, end, ENUM, "what became of it", .names = &end_names, .zero_is_unknown = true),
	FIELD(D, lat_ns, DURATION, "from the driver's getting the packet to its giving it back or handing it on"),
};
#undef D

static const struct event_role complete_roles[] = {
	{.name = "packets that the driver has",
	 .hooks = {{.programs = {"dev_complete_start", "dev_complete_return", "dev_complete_consumed",
				 "dev_complete_freed", "dev_complete_below", "dev_complete_backlog",
				 "dev_complete_gro"}}}},
};
EVENT_TYPE(dev_complete, "dev.complete", struct dev_complete, complete_fields, complete_roles,
	   "the driver of an interface is done with a packet");
