/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/ip/ip_frag.h"
#include "event/core/event.h"
#include "event/core/packet_names.h"
#include "record/net_names.h"

static const struct enum_name whats[] = {
	{IP_FRAG_RX, "rx", "fragment received"},
	{IP_FRAG_TX, "tx", "fragment transmitted"},
	{IP_FRAG_LOST, "lost", "fragment dropped before its packet was complete"},
};
static struct enum_names what_names = {whats, ARRAY_SIZE(whats), NULL};

#define F struct ip_frag
static const struct field frag_fields[] = {
	FIELD(F, what, ENUM, "what happened to the fragment", .names = &what_names),
	FIELD(F, dev, TEXT, "interface"),
	FIELD(F, id, HEX, "identification of the packet"),
	FIELD(F, offset, BYTES, "offset in the packet"),
	FIELD(F, bytes, BYTES, "length, without the IP header"),
	FIELD(F, more, BOOL, "more fragments follow", .hidden = true),
	FIELD(F, fragments, COUNT, "fragments of the packet received so far", .zero_is_unknown = true),
	FIELD(F, whole, BOOL, "this fragment completes the packet"),
	FIELD(F, lat_ns, DURATION, "time since the first fragment of the packet"),
	FIELD(F, mem_bytes, BYTES, "reassembly memory used in this namespace", .hidden = true),
	FIELD(F, mem_limit, BYTES, "limit of the reassembly memory: new packets are refused above it", .hidden = true),
	FIELD(F, reason, ENUM, "kernel's drop reason", .names = &drop_reason_names, .zero_is_unknown = true),
	FIELD(F, error, ENUM, "ETIMEDOUT: fragments missing; ENOMEM: limit reached", .names = &errno_names,
	      .zero_is_unknown = true),
};
#undef F

static const struct event_role frag_roles[] = {
	{.name = "received fragments", .hooks = {{.programs = {"ip_frag_received"}}}},
	{.name = "transmitted fragments", .hooks = {{.programs = {"ip_frag_sent"}}}},
	{.name = "dropped fragments", .hooks = {{.programs = {"ip_frag_lost", "ip_frag_lost_twin"}, .twins = true}}},
};
EVENT_TYPE(ip_frag, "ip.frag", struct ip_frag, frag_fields, frag_roles, "IP fragment received, transmitted or dropped");
