/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/skb/skb_drop.h"
#include "event/core/event.h"
#include "event/core/packet_names.h"
#include "record/net_names.h"

static const struct enum_name counters[] = {
#define DROP_COUNTER(name, text) {DROP_COUNTER_##name, text, NULL},
	DROP_COUNTERS(DROP_COUNTER)
#undef DROP_COUNTER
};
static struct enum_names counter_names = {counters, ARRAY_SIZE(counters), NULL};

#define D struct skb_drop
static const struct field drop_fields[] = {
	FIELD(D, dir, ENUM, "direction", .names = &packet_dir_names),
	FIELD(D, dev, TEXT, "interface"),
	FIELD(D, reason, ENUM, "kernel's drop reason; NOT_SPECIFIED if it gives none", .names = &drop_reason_names,
	      .zero_is_unknown = true),
	FIELD(D, counter, ENUM, "nstat counter that the drop increments; unknown if uncertain", .names = &counter_names,
	      .zero_is_unknown = true),
	FIELD(D, state, ENUM, "state of the receiving or sending socket", .names = &socket_state_names,
	      .zero_is_unknown = true),
	FIELD(D, flags, FLAGS, "TCP flags", .names = &tcp_flag_names, .zero_is_unknown = true, .hidden = true),
	FIELD(D, bytes, BYTES, "remaining length: headers already processed may be gone"),
	FIELD(D, location, HEX, "address of the code that dropped it; --stack names the function", .hidden = true),
};
#undef D

static const struct event_role drop_roles[] = {
	{.name = "dropped packets", .hooks = {{.programs = {"skb_drop_free"}}}},
};
EVENT_TYPE(skb_drop, "skb.drop", struct skb_drop, drop_fields, drop_roles, "dropped packet");
