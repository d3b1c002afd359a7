/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/dummy/dummy_look.h"
#include "event/core/event.h"

static const struct field fields[] = {
	FIELD(struct dummy_look, dummies, COUNT, "always seven"),
};

static const struct event_role roles[] = {
	{.name = "state changes", .hooks = {{.programs = {"dummy_look_seen"}}}},
};
EVENT_TYPE(dummy_look, "dummy.look", struct dummy_look, fields, roles, "an event of a new folder");
