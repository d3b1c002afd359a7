/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/tcp/tcp_reset.h"
#include "event/core/event.h"
#include "event/core/packet_names.h"
#include "kernel/btf_enum.h"
#include "record/net_names.h"

static void load_reasons(struct enum_names *names)
{
	btf_enum_load(names, "sk_rst_reason", "SK_RST_REASON_");
}

static struct enum_names reason_names = {.load = load_reasons};

#define R struct tcp_reset
static const struct field reset_fields[] = {
	FIELD(R, dir, ENUM, "whether this host received or sent it", .names = &packet_dir_names),
	FIELD(R, state, ENUM, "state of the connection when it happened", .names = &socket_state_names,
	      .zero_is_unknown = true),
	FIELD(R, reason, ENUM, "why this host sent it, in the kernel's words (Linux 6.10 and later)",
	      .names = &reason_names),
};
#undef R

static const struct event_role reset_roles[] = {
	{.name = "resets that arrive", .hooks = {{.programs = {"tcp_reset_received"}}}},
	{.name = "resets that are sent", .hooks = {{.programs = {"tcp_reset_sent"}}}},
};
EVENT_TYPE(tcp_reset, "tcp.reset", struct tcp_reset, reset_fields, reset_roles,
	   "a TCP connection was reset by the peer, or this host reset one");
