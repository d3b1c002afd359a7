/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/ip/ip_ecn.h"
#include "event/core/event.h"
#include "event/core/packet_names.h"

static const struct enum_name marks[] = {
	{1, "ECT1", "ECN-capable transport, L4S"},
	{2, "ECT0", "ECN-capable transport"},
	{3, "CE", "congestion experienced"},
};
static struct enum_names mark_names = {marks, ARRAY_SIZE(marks), NULL};

#define E struct ip_ecn
static const struct field ecn_fields[] = {
	FIELD(E, dir, ENUM, "direction", .names = &packet_dir_names),
	FIELD(E, dev, TEXT, "interface"),
	FIELD(E, ecn, ENUM, "ECN field", .names = &mark_names),
	FIELD(E, dscp, ID, "DSCP", .hidden = true),
	FIELD(E, bytes, BYTES, "length, IP header included"),
	FIELD(E, segs, COUNT, "number of packets on the wire", .hidden = true),
};
#undef E

static const struct event_role ecn_roles[] = {
	{.name = "received packets", .hooks = {{.programs = {"ip_ecn_received"}}}},
	{.name = "transmitted packets", .hooks = {{.programs = {"ip_ecn_sent"}}}},
};
EVENT_TYPE(ip_ecn, "ip.ecn", struct ip_ecn, ecn_fields, ecn_roles, "packet with an ECN mark (ECT or CE)");
