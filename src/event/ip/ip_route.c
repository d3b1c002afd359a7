/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/ip/ip_route.h"
#include "event/core/event.h"
#include "record/net_names.h"

static const struct enum_name tables[] = {
	{253, "default", "asked last"},
	{254, "main", "where routes usually are"},
	{255, "local", "this host's own addresses"},
};
static struct enum_names table_names = {tables, ARRAY_SIZE(tables), NULL};

#define R struct ip_route
static const struct field route_fields[] = {
	FIELD(R, table, ENUM, "that was asked; others by their number", .names = &table_names),
	FIELD(R, gateway, ADDR, "next hop; unknown when the destination is on the link"),
	FIELD(R, dev, TEXT, "interface that the route goes by"),
	FIELD(R, lat_ns, DURATION, "how long the look-up took"),
	FIELD(R, lat_most_ns, DURATION,
	      "of a packet that came by an interface: the time since then; the look-up took at most that"),
	FIELD(R, error, ENUM,
	      "EAGAIN: this table does not know, the next is asked; EHOSTUNREACH, EACCES, EINVAL: the route says so",
	      .names = &errno_names, .zero_is_unknown = true),
};
#undef R

static const struct event_role route_roles[] = {
	{.name = "look-ups", .hooks = {{.programs = {"ip_route_end_v4"}}}},
	{.name = "look-ups of IPv6", .without = "IPv6 is not seen", .hooks = {{.programs = {"ip_route_end_v6"}}}},
	{.name = "when look-ups begin",
	 .without = "lat_ns is known only of the main table, and where the local one is asked before it (IPv6)",
	 .hooks = {{.programs = {"ip_route_begin_v4", "ip_route_begin_v6"}}}},
	{.name = "packets that arrive",
	 .without = "lat_most_ns is not known",
	 .hooks = {{.programs = {"ip_route_packet"}}}},
};
EVENT_TYPE(ip_route, "ip.route", struct ip_route, route_fields, route_roles,
	   "a table of routes was asked for the way to an address");
