/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/dev/dev_hold.h"
#include "event/core/event.h"

static const struct enum_name reasons[] = {
	{DEV_HOLD_DRIVER, "driver", "the driver's ring is full"},
	{DEV_HOLD_BQL, "bql", "byte queue limit (BQL) reached"},
	{DEV_HOLD_BOTH, "both", "BQL reached and ring full"},
};
static struct enum_names reason_names = {reasons, ARRAY_SIZE(reasons), NULL};

#define D struct dev_hold
static const struct field hold_fields[] = {
	FIELD(D, dev, TEXT, "interface"),
	FIELD(D, queue, ID, "queue number"),
	FIELD(D, by, ENUM, "what stopped the queue", .names = &reason_names, .zero_is_unknown = true),
	FIELD(D, limit, BYTES, "BQL limit; known if BQL stopped the queue"),
	FIELD(D, inflight, BYTES, "bytes in flight; known if BQL stopped the queue"),
	FIELD(D, lat_ns, DURATION, "time from stop to wake"),
};
#undef D

static const struct event_role hold_roles[] = {
	{.name = "queue stops and wakes",
	 .hooks = {{.programs = {"dev_hold_give", "dev_hold_return", "dev_hold_ask"}}}},
};
EVENT_TYPE(dev_hold, "dev.hold", struct dev_hold, hold_fields, hold_roles, "stopped transmit queue");
