/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/dev/dev_hold.h"
#include "event/core/event.h"

static const struct enum_name reasons[] = {
	{DEV_HOLD_DRIVER, "driver", "it had no room for more"},
	{DEV_HOLD_BQL, "bql", "the bytes under way reached the byte queue limit"},
	{DEV_HOLD_BOTH, "both", "the limit was reached, and the driver had no room"},
};
static struct enum_names reason_names = {reasons, ARRAY_SIZE(reasons), NULL};

#define D struct dev_hold
static const struct field hold_fields[] = {
	FIELD(D, dev, TEXT, "interface"),
	FIELD(D, queue, ID, "of the interface"),
	FIELD(D, by, ENUM, "what stopped it", .names = &reason_names, .zero_is_unknown = true),
	FIELD(D, limit, BYTES, "that may be under way at once, where the limit stopped it"),
	FIELD(D, inflight, BYTES, "that were under way, where the limit stopped it"),
	FIELD(D, lat_ns, DURATION, "from its stopping to its going on"),
};
#undef D

static const struct event_role hold_roles[] = {
	{.name = "queues that stop and go on",
	 .hooks = {{.programs = {"dev_hold_give", "dev_hold_return", "dev_hold_ask"}}}},
};
EVENT_TYPE(dev_hold, "dev.hold", struct dev_hold, hold_fields, hold_roles, "a queue of an interface was stopped");
