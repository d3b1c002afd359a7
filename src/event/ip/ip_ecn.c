/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/ip/ip_ecn.h"
#include "event/core/event.h"
#include "event/core/packet_names.h"

static const struct enum_name marks[] = {
	{1, "ECT1", "the sender understands marks, and expects many (L4S)"},
	{2, "ECT0", "the sender understands marks"},
	{3, "CE", "marked: congestion was met"},
};
static struct enum_names mark_names = {marks, ARRAY_SIZE(marks), NULL};

#define E struct ip_ecn
static const struct field ecn_fields[] = {
	FIELD(E, dir, ENUM, "whether it arrived or leaves", .names = &packet_dir_names),
	FIELD(E, dev, TEXT, "interface"),
	FIELD(E, ecn, ENUM, "what its header says", .names = &mark_names),
	FIELD(E, dscp, ID, "class of service in its header", .hidden = true),
	FIELD(E, bytes, BYTES, "length from the IP header on"),
	FIELD(E, segs, COUNT, "packets that it is on the wire", .hidden = true),
};
#undef E

static const struct event_role ecn_roles[] = {
	{.name = "packets that arrive", .hooks = {{.programs = {"ip_ecn_received"}}}},
	{.name = "packets that leave", .hooks = {{.programs = {"ip_ecn_sent"}}}},
};
EVENT_TYPE(ip_ecn, "ip.ecn", struct ip_ecn, ecn_fields, ecn_roles,
	   "a packet takes part in explicit congestion notification");
