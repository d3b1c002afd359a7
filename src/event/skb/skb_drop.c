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
	FIELD(D, dir, ENUM, "whether it arrived here or was to leave", .names = &packet_dir_names),
	FIELD(D, dev, TEXT, "interface"),
	FIELD(D, reason, ENUM, "why, in the kernel's words; NOT_SPECIFIED where it does not say",
	      .names = &drop_reason_names, .zero_is_unknown = true),
	FIELD(D, counter, ENUM, "the counter of nstat that moved with it; unknown where none does for sure",
	      .names = &counter_names, .zero_is_unknown = true),
	FIELD(D, state, ENUM, "state of the socket that it was for or came from", .names = &socket_state_names,
	      .zero_is_unknown = true),
	FIELD(D, flags, FLAGS, "of the TCP header", .names = &tcp_flag_names, .zero_is_unknown = true, .hidden = true),
	FIELD(D, bytes, BYTES, "length of what was left of it: headers that were dealt with may be gone"),
	FIELD(D, location, HEX, "address of the code that let it go; --stack names it", .hidden = true),
};
#undef D

static const struct event_role drop_roles[] = {
	{.name = "packets that are let go", .hooks = {{.programs = {"skb_drop_free"}}}},
};
EVENT_TYPE(skb_drop, "skb.drop", struct skb_drop, drop_fields, drop_roles, "the kernel threw a packet away");
