/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/ip/ip_frag.h"
#include "event/core/event.h"
#include "event/core/packet_names.h"
#include "record/net_names.h"

static const struct enum_name whats[] = {
	{IP_FRAG_RX, "rx", "a fragment arrived"},
	{IP_FRAG_TX, "tx", "a fragment leaves"},
	{IP_FRAG_LOST, "lost", "a fragment that had arrived was thrown away before its packet was whole"},
};
static struct enum_names what_names = {whats, ARRAY_SIZE(whats), NULL};

#define F struct ip_frag
static const struct field frag_fields[] = {
	FIELD(F, what, ENUM, "what happened to it", .names = &what_names),
	FIELD(F, dev, TEXT, "interface"),
	FIELD(F, id, HEX, "number of the packet that it is a part of"),
	FIELD(F, offset, BYTES, "where in the packet it belongs"),
	FIELD(F, bytes, BYTES, "of the packet, without the IP header"),
	FIELD(F, more, BOOL, "it is not the last part", .hidden = true),
	FIELD(F, fragments, COUNT, "of this packet that have come until now", .zero_is_unknown = true),
	FIELD(F, whole, BOOL, "with this one all parts have come"),
	FIELD(F, lat_ns, DURATION, "since the first one of its packet came"),
	FIELD(F, mem_bytes, BYTES, "memory that all fragments take that wait in this namespace", .hidden = true),
	FIELD(F, mem_limit, BYTES, "how much they may take: then new packets are refused", .hidden = true),
	FIELD(F, reason, ENUM, "why it was thrown away, in the kernel's words", .names = &drop_reason_names,
	      .zero_is_unknown = true),
	FIELD(F, error, ENUM, "ETIMEDOUT: the rest did not come; ENOMEM: the limit was reached", .names = &errno_names,
	      .zero_is_unknown = true),
};
#undef F

static const struct event_role frag_roles[] = {
	{.name = "fragments that arrive", .hooks = {{.programs = {"ip_frag_received"}}}},
	{.name = "fragments that leave", .hooks = {{.programs = {"ip_frag_sent"}}}},
	{.name = "fragments that are thrown away",
	 .hooks = {{.programs = {"ip_frag_lost", "ip_frag_lost_twin"}, .twins = true}}},
};
EVENT_TYPE(ip_frag, "ip.frag", struct ip_frag, frag_fields, frag_roles,
	   "a fragment of a packet came, left, or was thrown away while it waited");
