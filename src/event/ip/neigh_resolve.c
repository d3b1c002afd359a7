/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/ip/neigh_resolve.h"
#include "event/core/event.h"

#define N struct neigh_resolve
static const struct field resolve_fields[] = {
	FIELD(N, dev, TEXT, "interface"),
	FIELD(N, lat_ns, DURATION,
	      "time from the first solicitation to the answer or failure; unknown if its start was not seen"),
	FIELD(N, probes, COUNT, "solicitations sent"),
	FIELD(N, error, ENUM, "EHOSTUNREACH: no answer", .names = &errno_names, .zero_is_unknown = true),
};
#undef N

static const struct event_role resolve_roles[] = {
	{.name = "solicitations and answers",
	 .hooks = {{.programs = {"neigh_resolve_create", "neigh_resolve_ask", "neigh_resolve_answer",
				 "neigh_resolve_timer", "neigh_resolve_release"}}}},
};
EVENT_TYPE(neigh_resolve, "neigh.resolve", struct neigh_resolve, resolve_fields, resolve_roles,
	   "neighbour resolution (ARP, NDP), succeeded or failed");
