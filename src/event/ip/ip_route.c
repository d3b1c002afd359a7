/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/ip/ip_route.h"
#include "event/core/event.h"
#include "record/net_names.h"

static const struct enum_name tables[] = {
	{253, "default", "searched last"},
	{254, "main", "normal routes"},
	{255, "local", "local and broadcast addresses"},
};
static struct enum_names table_names = {tables, ARRAY_SIZE(tables), NULL};

#define R struct ip_route
static const struct field route_fields[] = {
	FIELD(R, table, ENUM, "routing table; number if it has no name", .names = &table_names),
	FIELD(R, gateway, ADDR, "next hop; unknown if the destination is on the link"),
	FIELD(R, dev, TEXT, "output interface"),
	FIELD(R, lat_ns, DURATION, "lookup latency"),
	FIELD(R, lat_most_ns, DURATION,
	      "upper bound of the latency: time since the packet arrived; received packets only"),
	FIELD(R, error, ENUM,
	      "EAGAIN: no match, the next table is searched; EHOSTUNREACH, EACCES, EINVAL: type of the route",
	      .names = &errno_names, .zero_is_unknown = true),
};
#undef R

static const struct event_role route_roles[] = {
	{.name = "lookups", .hooks = {{.programs = {"ip_route_end_v4"}}}},
	{.name = "IPv6 lookups",
	 .without = "IPv6 lookups are not reported",
	 .hooks = {{.programs = {"ip_route_end_v6"}}}},
	{.name = "start of lookups",
	 .without = "lat_ns is known only for the main table, if the local table is searched first (IPv6)",
	 .hooks = {{.programs = {"ip_route_begin_v4", "ip_route_begin_v6"}}}},
	{.name = "received packets", .without = "lat_most_ns is unknown", .hooks = {{.programs = {"ip_route_packet"}}}},
};
EVENT_TYPE(ip_route, "ip.route", struct ip_route, route_fields, route_roles, "route lookup in one table");
