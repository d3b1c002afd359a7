/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/tcp/dummy_state.h"
#include "event/core/event.h"

static const struct field fields[] = {
	FIELD(struct dummy_state, dummies, COUNT, "always seven"),
};

static const struct event_role roles[] = {
	{.name = "state changes", .hooks = {{.programs = {"dummy_state_seen"}}}},
};
EVENT_TYPE(dummy_state, "dummy.state", struct dummy_state, fields, roles, "an event beside others");
